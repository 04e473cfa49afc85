// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace headroom {

/// What Python prints for str(json.loads(json_text)): None, True, 1e+16, {'a': [1, 2.5, "it's"]}. Whole
/// numbers keep all their digits. `source` names the text in errors. Throws Error where it is not JSON, holds
/// a number beyond double, or is nested more than 900 deep.
std::string python_str(std::string_view json_text, const std::string& source);

/// repr() of a float: the shortest digits that read back as `value`.
std::string python_float(double value);

/// repr() of a string in UTF-8.
std::string python_quoted(std::string_view text);

/// `text` padded with spaces to `width` characters (code points, as Python counts), on its left or right.
std::string python_padded(std::string_view text, std::size_t width, bool on_left);

}  // namespace headroom
