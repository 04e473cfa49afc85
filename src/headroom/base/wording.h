// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// Returns "1 case", "12 cases".
std::string counted(std::size_t count, std::string_view noun);

const char* is_or_are(std::size_t count);

/// Returns "xxxx... (6.01 MiB, #9f86d081)" for long texts, with a hash of the whole.
std::string abridged(std::string_view text, std::size_t longest);

}  // namespace headroom
