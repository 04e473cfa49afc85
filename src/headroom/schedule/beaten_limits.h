// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "headroom/schedule/track.h"

namespace headroom {

/// Limits that bound nothing: of their resource, device and ranks another pattern is faster, by 3 % more than
/// the 99 % interval of the ratio in the same rounds leaves open. The 3 % are for the processes to come, in
/// which patterns that are nearly alike may change places. By their place in `limits`.
std::vector<std::size_t> beaten_limits(const std::vector<LimitTrack>& limits);

}  // namespace headroom
