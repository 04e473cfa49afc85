// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"

namespace headroom {

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
