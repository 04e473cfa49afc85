// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// Appends `text` to `out` with U+FFFD in the place of each byte that is no part of well-formed UTF-8. False
/// when there was one.
bool append_valid_utf8(std::string_view text, std::string& out);

}  // namespace headroom::trace::readers
