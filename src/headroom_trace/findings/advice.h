// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// What to do about a finding.
enum class Advice : std::uint8_t {
  kLoadAhead,
  kReuseMemory,
  kReadLater,       ///< values that the host waits for
  kRecordHost,      ///< host work that is not in the file
  kRecordLaunches,  ///< device work whose launch is not in the file
  kRecordDevice,    ///< no device work is in the file
  kRecordSyncs,     ///< who waited for the device is not in the file
  kMarkSteps,       ///< no steps are in the file
  kRecordLines,     ///< neither functions of Python nor call stacks are in the file
  kMoveHostWork,    ///< host work that is in the file
  kCompileOnce,
  kCollectLater,  ///< Python's garbage
  kLaunchLess,
  kFuseKernels,
  kFuseNeighbours,  ///< of one slow kernel
  kFasterProduct,
  kPinMemory,
  kCopyAhead,
  kOverlapCommunication,
  kFillPipeline,
  kWarmUp,
  kFreeHost,  ///< of what holds up launch calls
  kFindDeviceWait,
  kExpandSegments
};

/// Returns the advice in the words of the tool that wrote the trace.
std::string advice(Advice what, Writer writer);

/// Returns why the file may have no work of a device.
std::string no_gpu_work(const Trace& trace);

}  // namespace headroom::trace
