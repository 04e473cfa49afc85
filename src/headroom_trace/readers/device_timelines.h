// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace::readers {

/// For files without categories (JAX, TensorFlow, Ascend): categorises the device work among `rows` by
/// process and thread names ("/device:GPU:0", "Stream #7(Compute)", "XLA Ops"; "Ascend Hardware", "Stream
/// 42"; "Communication", "Group 0 Communication").
void categorize_by_timeline(Trace& trace, const std::vector<std::uint32_t>& rows);

/// By processes, members and categories.
Writer writer_of(const Trace& trace);

/// True for Ascend traces without arrows, which alone link work and CANN calls.
bool wants_launch_arrows(const Trace& trace, Needs needs);

/// Copies the correlation from the start of the "HostToDevice" arrow, the external id from that of the
/// "async_npu" arrow.
void follow_launch_arrows(Trace& trace);

}  // namespace headroom::trace::readers
