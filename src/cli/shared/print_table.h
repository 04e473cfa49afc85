// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdio>

#include "headroom/base/table.h"

namespace headroom::cli {

/// Characters in a line of the terminal that `out` is; 0 (no limit) where it is none: what is written to
/// files and pipes depends on nothing but the results.
std::size_t terminal_width(std::FILE* out);

/// How tables on `out` are shown.
TableForm form_for(std::FILE* out, bool markdown);

/// Shows `table` on `out`. After one in Markdown comes an empty line, so that what follows is no row of it.
void print_table(const Table& table, std::FILE* out, bool markdown = false);

}  // namespace headroom::cli
