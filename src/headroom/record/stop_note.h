// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace headroom {

/// The note of a record that has as many samples as were asked for: its StopReason kMaxSamples is no cap that
/// came before a goal.
inline constexpr const char* kAsManyAsAsked = "as many runs as were asked for";

}  // namespace headroom
