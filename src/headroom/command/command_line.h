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

/// Splits a command line as a POSIX shell does (blanks, '…', "…", \x, # comments), for a program started
/// without a shell. Throws Error with the byte: unclosed quote, trailing backslash, no word, and shell syntax
/// (| & ; < > ( ) $ ` * ? [ ~ outside quotes, leading NAME=value), which as plain words would be another
/// command.
std::vector<std::string> split_command_line(std::string_view line);

/// Quotes `text` as one word for split_command_line and a POSIX shell.
std::string quoted_word(std::string_view text);

/// Replaces each {name} of `values`, without recursion. Other braces stay: awk '{print}' is an ordinary
/// command.
std::string with_placeholders(std::string_view text,
                              const std::vector<std::pair<std::string, std::string>>& values);

/// Values by name: {"model", "resnet50"}.
using Placeholders = std::map<std::string, std::string, std::less<>>;

/// Returns the names in braces of a text such as "--only={model}"; "{{" and "}}" are plain braces. Throws
/// Error on an unbalanced brace or an empty name.
std::vector<std::string> placeholder_names(std::string_view text);

/// Replaces every name. Throws Error for an unknown name.
std::string fill_placeholders(std::string_view text, const Placeholders& values);

/// Doubles all braces except those of the names in `known`.
std::string escape_unknown_placeholders(std::string_view text, const std::vector<std::string>& known);

/// A {name} in commands, with its values.
struct CommandParameter {
  std::string name;
  std::vector<std::string> values;
};

/// Parses values "a,b,c"; "\," is a comma inside one. Throws Error: no name, no value, a repeated value.
CommandParameter listed_parameter(std::string_view name, std::string_view values);

/// Expands first, first + step, … up to last (down for a negative step), exact in decimal. Throws Error: not
/// a decimal number, a step in the wrong direction, more than 10,000 values.
CommandParameter stepped_parameter(std::string_view name, std::string_view first, std::string_view last,
                                   std::string_view step);

/// Returns every combination of values, the last parameter varying fastest; one empty point without
/// parameters. Throws Error for a repeated name or more than 10,000 points.
std::vector<AxisTexts> parameter_points(std::span<const CommandParameter> parameters);

}  // namespace headroom
