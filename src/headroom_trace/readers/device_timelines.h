// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

/// The JSON of the JAX and TensorFlow viewers and of Ascend's profiler has no categories for device work; the
/// names of process and thread tell ("/device:GPU:0", "Stream #7(Compute)", "XLA Ops"; "Ascend Hardware",
/// "Stream 42"; "Communication", "Group 0 Communication"). Gives those of `rows` that are device work their
/// category and a row of Trace::gpu; launches become kRuntime. Leaves the rest alone.
void categorize_by_timeline(Trace& trace, const std::vector<std::uint32_t>& rows);

/// The writer of a Chrome trace, by its processes, members and categories.
Writer writer_of(const Trace& trace);

/// Whether launches of the trace are arrows that were not read: Ascend's profiler gives its work and the
/// calls of CANN numbers of their own.
bool wants_launch_arrows(const Trace& trace, Needs needs);

/// Gives Ascend's work the correlation of the call that its arrow "HostToDevice" comes from, and the external
/// id of the operator that its arrow "async_npu" comes from.
void follow_launch_arrows(Trace& trace);

}  // namespace headroom::trace::readers
