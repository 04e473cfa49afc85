// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/json_fields.h"

namespace headroom::record_json {

const Json* optional_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) throw Error(where + ": expected an object");
  const Json* found = object.find(key);
  return found == nullptr || found->is_null() ? nullptr : found;
}

void refuse(const std::string& where, const char* key, const std::string& what) {
  throw Error(where + "/" + key + ": " + what);
}

double number_or_nan(const Json& value, const std::string& where) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) throw Error(where + ": expected a number");
  return value.get<double>();
}

std::vector<double> read_numbers(const Json& object, const char* key, const std::string& where) {
  std::vector<double> numbers;
  if (optional_member(object, key, where) == nullptr) return numbers;
  const Json& array = json_array(object, key, where);
  numbers.reserve(array.size());
  const std::string path = where + "/" + key;
  for (const Json& value : array) numbers.push_back(number_or_nan(value, path));
  return numbers;
}

bool read_bool_or(const Json& object, const char* key, bool fallback, const std::string& where) {
  return optional_member(object, key, where) == nullptr ? fallback : json_bool(object, key, where);
}

StringMap read_string_map(const Json& object, const char* key, const std::string& where) {
  StringMap map;
  const Json* member = optional_member(object, key, where);
  if (member == nullptr) return map;
  if (!member->is_object()) refuse(where, key, "expected an object");
  for (const auto& [name, value] : member->items()) {
    map[name] = json_string(*member, name.c_str(), where + "/" + key);
  }
  return map;
}

std::vector<std::string> read_strings(const Json& object, const char* key, const std::string& where) {
  std::vector<std::string> strings;
  if (optional_member(object, key, where) == nullptr) return strings;
  const Json& array = json_array(object, key, where);
  for (const Json& value : array) {
    if (!value.is_string()) refuse(where, key, "expected an array of strings");
    strings.push_back(value.get<std::string>());
  }
  return strings;
}

Json write_interval(const Interval& interval) {
  return {{"low", interval.low}, {"high", interval.high}, {"confidence", interval.confidence}};
}

Interval read_interval(const Json& object, const std::string& where) {
  return {json_number(object, "low", where), json_number(object, "high", where),
          json_number(object, "confidence", where)};
}

bool is_whole(const Json& value, bool negative, std::uint64_t max) {
  if (value.is_number_unsigned()) return value.get<std::uint64_t>() <= max;
  if (!value.is_number_integer()) return false;
  return negative && value.get<std::int64_t>() >= -static_cast<std::int64_t>(max) - 1;
}

}  // namespace headroom::record_json
