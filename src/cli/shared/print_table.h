// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>

#include "headroom/base/sheet.h"

namespace headroom::cli {

/// Characters in a line of the terminal that `out` is; 0 (no limit) where it is none: what is written to
/// files and pipes depends on nothing but the results.
std::size_t terminal_width(std::FILE* out);

/// What --color said, of every command: "auto", "always" or "never". Without it "auto": a terminal that can,
/// unless NO_COLOR is set (https://no-color.org).
void choose_colour(const std::string& when);

/// How tables on `out` are shown.
TableForm form_for(std::FILE* out, bool markdown);

/// Shows the answer, the tables and their notes on `out`.
void print_sheet(const Sheet& sheet, std::FILE* out, bool markdown = false);

/// Shows a table that answers no question: a list.
void print_table(const Table& table, std::FILE* out);

}  // namespace headroom::cli
