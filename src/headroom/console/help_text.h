// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom::cli {

class OptionTable;

/// Appends `name`, and `text` from `column` on, in as many lines of `width` columns as it needs.
void append_entry(std::string& out, std::string_view name, std::string_view text, std::size_t column,
                  std::size_t width);

/// Help of a command: usage, options by group, details, examples.
std::string help_text(const OptionTable& table, std::size_t width);

}  // namespace headroom::cli
