// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace headroom {

/// Whether all of `text` fits `pattern`, in which '*' stands for any characters and '?' for one.
bool fits_glob(std::string_view pattern, std::string_view text);

}  // namespace headroom
