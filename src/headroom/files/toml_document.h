// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace headroom {

/// Throws Error for invalid TOML 1.0 on which toml++ 3.3 fails an assertion or has undefined behaviour: a
/// non-ASCII character outside strings and comments, a header without a name, a date with half a time,
/// mismatched brackets, or a quote, bracket or = inside a value. Also rejects a valid non-ASCII character
/// after a line-joining backslash, for the same reason.
void refuse_impossible_toml(std::string_view text, const std::string& source);

/// Throws Error("source: line 3, column 7: what").
[[noreturn]] void refuse_at(const toml::source_region& region, const std::string& source,
                            const std::string& what);

/// Throws Error with `source`, line and column.
toml::table parse_toml(std::string_view text, const std::string& source);

}  // namespace headroom
