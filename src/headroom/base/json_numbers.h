// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"

namespace headroom {

/// The member `key` as an integer of at least `least`. Throws Error, naming the member, when it is missing,
/// not an integer, or does not fit.
template <std::integral Integer>
Integer json_integer(const Json& object, const char* key, const std::string& where, Integer least = 0) {
  const Json& member = json_member(object, key, where);
  const auto fits = [&](auto value) {
    return std::in_range<Integer>(value) && std::cmp_greater_equal(value, least);
  };
  if (member.is_number_unsigned() && fits(member.get<std::uint64_t>())) return member.get<Integer>();
  if (member.is_number_integer() && !member.is_number_unsigned() && fits(member.get<std::int64_t>())) {
    return member.get<Integer>();
  }
  throw Error(where + "/" + key + ": expected an integer of at least " + std::to_string(least) + ", found " +
              dump_json(member));
}

/// The member `key`, an array of numbers. Throws Error, naming the member, when it is missing or something
/// else.
inline std::vector<double> json_numbers(const Json& object, const char* key, const std::string& where) {
  std::vector<double> numbers;
  for (const Json& number : json_array(object, key, where)) {
    if (!number.is_number()) throw Error(where + "/" + key + ": expected numbers");
    numbers.push_back(number.get<double>());
  }
  return numbers;
}

}  // namespace headroom
