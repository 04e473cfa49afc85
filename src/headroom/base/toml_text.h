// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom {

/// Throws Error, "source: line 3, column 7: what", for what TOML 1.0 does not allow and toml++ 3.3 takes for
/// impossible: its assertions fail for it, or it goes on with undefined behaviour. A character beyond ASCII
/// outside strings and comments; a header, [ or [[, whose name does not begin; a date and half a time;
/// brackets that close others than they should; a quote, a bracket or = in the middle of a value. All else is
/// left to toml++, but for what TOML does allow and the same fault reaches: a character beyond ASCII after a
/// backslash that joins two lines.
void refuse_impossible_toml(std::string_view text, const std::string& source);

}  // namespace headroom
