// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom::cuda {

/// When a launch starts: once the one before it in the stream has ended, or, on devices of compute capability
/// 9.0 and later, as soon as there is room for its blocks (programmatic dependent launch). Until the other
/// has ended they load only what no launch writes, such as weights.
enum class Start { kBehindOther, kEarly };

/// What the name of a variant that starts early ends with.
inline constexpr const char* kEarlySuffix = ", early";

}  // namespace headroom::cuda
