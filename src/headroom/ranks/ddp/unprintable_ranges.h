// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace headroom {

struct CodePointRange {
  char32_t first, last;
};

/// The code points that Python's repr() of a string writes as an escape, ascending.
std::span<const CodePointRange> unprintable_ranges();

}  // namespace headroom
