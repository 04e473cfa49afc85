// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace headroom {

/// The words of a command line, split as a POSIX shell does (blanks, '…', "…", \x, # comments), for a program
/// that is started without one. Throws Error naming the byte: a quote that is never closed, a backslash at
/// the end, no word at all, and what only a shell can do (| & ; < > ( ) $ ` * ? [ ~ outside quotes, leading
/// NAME=value): run as plain words these would silently be another command.
std::vector<std::string> split_command_line(std::string_view line);

/// `text` as one word that split_command_line and a POSIX shell read back as `text`.
std::string quoted_word(std::string_view text);

/// `text` with each {name} of `values` replaced. Other braces stay as they are: awk '{print}' is an ordinary
/// command. Values are not looked at again.
std::string with_placeholders(std::string_view text,
                              const std::vector<std::pair<std::string, std::string>>& values);

}  // namespace headroom
