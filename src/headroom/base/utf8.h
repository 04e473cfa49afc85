// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// Bytes of the well-formed sequence at the front of `text` (table 3-7 of the Unicode standard), 0 where
/// there is none.
std::size_t utf8_length(std::string_view text);

/// Appends `text` to `out` with U+FFFD in the place of each byte that is no part of well-formed UTF-8. False
/// when there was one.
bool append_valid_utf8(std::string_view text, std::string& out);

}  // namespace headroom
