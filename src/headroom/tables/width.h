// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// Terminal columns of UTF-8 `text`: two for an East Asian wide character, an emoji or a flag, none for
/// combining marks, one for a control character or an invalid byte.
std::size_t display_width(std::string_view text);

/// As many whole grapheme clusters from the start, or the end, as fit.
std::string_view first_columns(std::string_view text, std::size_t columns);
std::string_view last_columns(std::string_view text, std::size_t columns);

/// `text` if it fits; else as many whole grapheme clusters as fit, then "…".
std::string shortened(std::string_view text, std::size_t width);
/// With the "…" in the middle: names differ at both ends.
std::string cut_in_middle(std::string_view text, std::size_t width);

}  // namespace headroom
