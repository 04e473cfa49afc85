// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace::readers {

/// The JSON of the JAX and TensorFlow viewers and of Ascend's profiler has no categories for the device: what
/// an event is, its process and thread say ("/device:GPU:0", "Stream #7(Compute)", "XLA Ops"; "Ascend
/// Hardware", "Stream 42"; "Communication", "Group 0 Communication"). Gives those of `rows` that are work of
/// a device their category and a row of Trace::gpu; launches become kRuntime. Everything else is left alone.
void categorize_by_timeline(Trace& trace, const std::vector<std::uint32_t>& rows);

}  // namespace headroom::trace::readers
