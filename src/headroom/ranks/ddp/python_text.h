// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "headroom/base/json_stream.h"

namespace headroom {

/// Takes the value that comes next and gives what Python prints for its str(): None, True, 1e+16, {'a':
/// [1, 2.5, "it's"]}. Whole numbers keep all their digits, what is beyond double is inf. Throws Error as the
/// stream does.
std::string python_str(JsonStream& stream);

/// repr() of a float: the shortest digits that read back as `value`.
std::string python_float(double value);

/// repr() of a string in UTF-8.
std::string python_quoted(std::string_view text);

/// Python's {:8.3f}, with_plus {:+8.3f}: nan and inf stand right, too.
std::string python_fixed(double value, std::size_t width, int decimals, bool with_plus);

/// `text` padded with spaces to `width` characters (code points, as Python counts), on its left or right.
std::string python_padded(std::string_view text, std::size_t width, bool on_left);

}  // namespace headroom
