// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace headroom {

/// How values are distributed, a sign for each of `bins` ranges of equal width from the least to the 95th
/// percentile (what lies beyond is in the last): "▁▂█▃ ▁". A blank is no value, the highest sign the most.
/// `ascii`: in signs of ASCII. Empty without values.
std::string spark(std::span<const double> values, std::size_t bins, bool ascii);

}  // namespace headroom
