// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "headroom/experiment/state.h"

namespace headroom {

/// The axis `bytes` of a bandwidth limit, rounded down to a multiple of the `unit` bytes that it moves at
/// once. Skips the case when that leaves nothing.
std::size_t limit_bytes(const State& state, std::size_t unit);

}  // namespace headroom
