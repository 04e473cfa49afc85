// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// Returns the terminal columns that `text` (UTF-8) takes: two for an East Asian wide character, an emoji or
/// a flag, none for combining marks. A control character or an invalid byte counts as one.
std::size_t display_width(std::string_view text);

/// Returns the most whole grapheme clusters at the start, or at the end, of `text` that fit `columns`.
std::string_view first_columns(std::string_view text, std::size_t columns);
std::string_view last_columns(std::string_view text, std::size_t columns);

/// Returns `text` if it fits `width` columns; else as many whole grapheme clusters as fit, followed by "…".
std::string shortened(std::string_view text, std::size_t width);

}  // namespace headroom
