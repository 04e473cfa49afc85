// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// A {name} in commands, and the values that it takes.
struct CommandParameter {
  std::string name;
  std::vector<std::string> values;
};

/// "a,b,c" as the values; "\," is a comma inside one. Throws Error: no name, no value, a value twice.
CommandParameter listed_parameter(std::string_view name, std::string_view values);

/// first, first + step, … up to last (or down to it, for a negative step), exact in decimal. Throws Error:
/// not a decimal number, a step that leads nowhere, more than 10,000 values.
CommandParameter stepped_parameter(std::string_view name, std::string_view first, std::string_view last,
                                   std::string_view step);

/// Every combination of values, the last parameter varying fastest; one empty point where there is none.
/// Throws Error when two have the same name, or there are more than 10,000 points.
std::vector<AxisTexts> parameter_points(std::span<const CommandParameter> parameters);

}  // namespace headroom
