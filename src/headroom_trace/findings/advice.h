// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

enum class Advice : std::uint8_t {
  kLoadAhead,
  kReuseMemory,
  kReadLater,
  kRecordHost,
  kRecordLaunches,
  kRecordDevice,
  kRecordSyncs,
  kMarkSteps,
  kRecordLines,
  kMoveHostWork,
  kCompileOnce,
  kCollectLater,
  kLaunchLess,
  kFuseKernels,
  kFuseNeighbours,  ///< of one slow kernel
  kFasterProduct,
  kPinMemory,
  kCopyAhead,
  kOverlapCommunication,
  kFillPipeline,
  kWarmUp,
  kFreeHost,
  kFindDeviceWait,
  kExpandSegments
};

/// In the terms of the tool that wrote the trace.
std::string advice(Advice what, Writer writer);

/// Returns why the file may have no GPU work.
std::string no_gpu_work(const Trace& trace);

}  // namespace headroom::trace
