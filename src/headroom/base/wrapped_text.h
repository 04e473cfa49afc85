// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// `line` in lines of at most `width` characters, broken at blanks; 0 is no limit. Lines after the first
/// begin below the first word, behind a mark of one letter below what it stands for ("  B  busy: ...").
/// Longer words stand in lines of their own. Without a line end behind the last.
std::string wrapped(std::string_view line, std::size_t width);

}  // namespace headroom
