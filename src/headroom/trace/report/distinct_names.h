// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace headroom {

/// Each name in at most `most` characters: two thirds of them for its beginning, the rest for its end, for
/// template arguments, which tell least, are in the middle. Names that differ stay different: where their
/// short texts would be equal, the place where they differ is kept, and as a last resort a number tells them
/// apart, which may take a few characters more. Equal names are shortened equally.
std::vector<std::string> shortened_names(const std::vector<std::string>& names, std::size_t most);

}  // namespace headroom
