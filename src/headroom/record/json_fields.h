// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/stats/interval.h"

namespace headroom::record_json {

using StringMap = std::map<std::string, std::string>;

/// The member, or nullptr where it is absent or null. `where` is the path of `object`, as in base/json.h.
const Json* optional_member(const Json& object, const char* key, const std::string& where);

/// "<where>/<key>: <what>", thrown as an Error.
[[noreturn]] void refuse(const std::string& where, const char* key, const std::string& what);

/// Numbers that JSON cannot hold (not-a-number, infinity) are written as null and read as not-a-number.
double number_or_nan(const Json& value, const std::string& where);
std::vector<double> read_numbers(const Json& object, const char* key, const std::string& where);

bool read_bool_or(const Json& object, const char* key, bool fallback, const std::string& where);
StringMap read_string_map(const Json& object, const char* key, const std::string& where);
std::vector<std::string> read_strings(const Json& object, const char* key, const std::string& where);

Json write_interval(const Interval& interval);
Interval read_interval(const Json& object, const std::string& where);

/// Whether `value` is a whole number that fits an unsigned (or, with `negative`, a signed) integer up to
/// `max`.
bool is_whole(const Json& value, bool negative, std::uint64_t max);

/// A whole number of type Integer; `where` is the path of the value itself.
template <typename Integer>
Integer read_whole(const Json& value, const std::string& where, bool negative = std::is_signed_v<Integer>) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
  if (!is_whole(value, negative, kMax)) {
    throw Error(where + ": expected a whole number" + (negative ? "" : " from 0") + " up to " +
                std::to_string(kMax));
  }
  return value.get<Integer>();
}

/// The member as a whole number, 0 where it is absent.
template <typename Integer>
Integer read_whole_member(const Json& object, const char* key, const std::string& where) {
  const Json* member = optional_member(object, key, where);
  return member == nullptr ? Integer{0} : read_whole<Integer>(*member, where + "/" + key);
}

/// The member as a number of things, never below 0; 0 where it is absent.
template <typename Integer>
Integer read_count_member(const Json& object, const char* key, const std::string& where) {
  const Json* member = optional_member(object, key, where);
  return member == nullptr ? Integer{0} : read_whole<Integer>(*member, where + "/" + key, false);
}

}  // namespace headroom::record_json
