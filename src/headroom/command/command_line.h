// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// As a POSIX shell (blanks, quotes, \x, # comments). Throws Error with the byte: unclosed quote, trailing
/// backslash, no word, or shell syntax outside quotes (| & ; < > ( ) $ ` * ? [ ~, leading NAME=value).
std::vector<std::string> split_command_line(std::string_view line);

/// Quotes for split_command_line() and POSIX shells.
std::string quoted_word(std::string_view text);

/// Replaces each {name} of `values`, without recursion. Other braces stay, as in awk '{print}'.
std::string with_placeholders(std::string_view text,
                              const std::vector<std::pair<std::string, std::string>>& values);

using Placeholders = std::map<std::string, std::string, std::less<>>;

/// "{{" and "}}" are plain braces. Throws Error for an unbalanced brace or empty name.
std::vector<std::string> placeholder_names(std::string_view text);

/// Throws Error for an unknown name.
std::string fill_placeholders(std::string_view text, const Placeholders& values);

/// Doubles all braces except those of `known` names.
std::string escape_unknown_placeholders(std::string_view text, const std::vector<std::string>& known);

struct CommandParameter {
  std::string name;
  std::vector<std::string> values;
};

/// Parses "a,b,c"; "\," is a comma in a value. Throws Error: no name, no value, a repeated value.
CommandParameter listed_parameter(std::string_view name, std::string_view values);

/// first, first + step, ... to last, exact in decimal. Throws Error: not decimal, wrong sign of step, more
/// than 10,000 values.
CommandParameter stepped_parameter(std::string_view name, std::string_view first, std::string_view last,
                                   std::string_view step);

/// All combinations, the last parameter varying fastest; one empty point without any. Throws Error for a
/// repeated name or more than 10,000 points.
std::vector<AxisTexts> parameter_points(std::span<const CommandParameter> parameters);

}  // namespace headroom
