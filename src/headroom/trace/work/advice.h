// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

/// Where advice begins. The first four are those of PyTorch's tensorboard plugin.
inline constexpr double kLowUtilization = 0.5, kMuchDataLoading = 0.05, kMuchCommunication = 0.1,
                        kFullMemory = 0.9, kMuchIdle = 0.2;
inline constexpr std::int64_t kTinyKernelNs = 5'000;  ///< about what launching one costs
inline constexpr std::int64_t kShortGapNs = 100'000;  ///< the host between two launches, not a wait for data

/// What looks wrong, and which analysis says more: a sentence each, the figure in it. Uses what the trace
/// has: data loading needs the annotations, memory the memory events.
std::vector<std::string> advice(const Trace& trace, std::span<const DeviceTimes> devices);

}  // namespace headroom::trace
