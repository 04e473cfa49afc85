// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// "1 case", "12 cases".
std::string counted(std::size_t count, std::string_view noun);

/// "is" for one, "are" for any other count.
const char* is_or_are(std::size_t count);

/// Returns `text`, or if it has more than `longest` bytes its beginning, its size, and a hash that tells it
/// from others of the same beginning: "xxxx... (6.01 MiB, #9f86d081)".
std::string abridged(std::string_view text, std::size_t longest);

}  // namespace headroom
