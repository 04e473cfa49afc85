// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json.h"

#include <fmt/format.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

const char* type_text(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "an array";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

/// The member, or nullptr where `object` has none of that name.
const Json* find_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) {
    throw Error(fmt::format("{}: expected an object, found {}", where, type_text(object)));
  }
  const auto found = object.find(key);
  return found == object.end() ? nullptr : &*found;
}

[[noreturn]] void wrong_type(const Json& found, const char* key, const char* expected,
                             const std::string& where) {
  throw Error(fmt::format("{}/{}: expected {}, found {}", where, key, expected, type_text(found)));
}

const Json& required(const Json& object, const char* key, const char* expected, const std::string& where) {
  const Json* member = find_member(object, key, where);
  if (member == nullptr) throw Error(fmt::format("{}/{}: missing; expected {}", where, key, expected));
  return *member;
}

/// What nlohmann says without its own prefix and position: "[json.exception.parse_error.101] parse error at
/// line 1, column 2: syntax error ..." becomes "syntax error ...", at most `kMaxReason` bytes of it.
std::string reason_of(const nlohmann::json::exception& error) {
  constexpr std::size_t kMaxReason = 300;
  std::string text = error.what();
  if (const std::size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
  if (text.starts_with("parse error")) {
    if (const std::size_t colon = text.find(": "); colon != std::string::npos) text.erase(0, colon + 2);
  }
  if (text.size() > kMaxReason) text = text.substr(0, kMaxReason) + "...";
  return text;
}

std::string dump(const Json& value, int indent) {
  return value.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  try {
    return Json::parse(text);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(fmt::format("{}: not JSON at byte {}: {}", source, error.byte, reason_of(error)));
  } catch (const nlohmann::json::exception& error) {
    throw Error(fmt::format("{}: not JSON: {}", source, reason_of(error)));
  }
}

double json_number(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "a number", where);
  if (!member.is_number()) wrong_type(member, key, "a number", where);
  return member.get<double>();
}

std::string json_string(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "a string", where);
  if (!member.is_string()) wrong_type(member, key, "a string", where);
  return member.get<std::string>();
}

bool json_bool(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "a boolean", where);
  if (!member.is_boolean()) wrong_type(member, key, "a boolean", where);
  return member.get<bool>();
}

const Json& json_member(const Json& object, const char* key, const std::string& where) {
  return required(object, key, "a value", where);
}

const Json& json_array(const Json& object, const char* key, const std::string& where) {
  const Json& member = required(object, key, "an array", where);
  if (!member.is_array()) wrong_type(member, key, "an array", where);
  return member;
}

double json_number_or(const Json& object, const char* key, double fallback, const std::string& where) {
  const Json* member = find_member(object, key, where);
  return member == nullptr || member->is_null() ? fallback : json_number(object, key, where);
}

std::string json_string_or(const Json& object, const char* key, const std::string& fallback,
                           const std::string& where) {
  const Json* member = find_member(object, key, where);
  return member == nullptr || member->is_null() ? fallback : json_string(object, key, where);
}

std::string dump_json(const Json& value) {
  return dump(value, -1);
}

std::string dump_json_pretty(const Json& value) {
  return dump(value, 2);
}

}  // namespace headroom
