// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <toml++/toml.h>
#include <string>
#include <string_view>

namespace headroom {

/// Throws Error: "source: line 3, column 7: what".
[[noreturn]] void refuse_at(const toml::source_region& region, const std::string& source,
                            const std::string& what);

/// The TOML of a file named `source`. Throws Error with line and column where it is none.
toml::table parse_toml(std::string_view text, const std::string& source);

}  // namespace headroom
