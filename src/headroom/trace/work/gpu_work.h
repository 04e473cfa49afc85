// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "headroom/trace/columns/trace.h"
#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

/// The work of one stream, or of all streams of a device: rows of Trace::gpu by start time, those that start
/// together in the order of the file.
struct GpuWork {
  std::int32_t device = -1;
  std::int64_t stream = -1;  ///< meaningless in what work_by_device() gives
  std::vector<std::uint32_t> rows;
};

/// One entry a (device, stream), in that order.
std::vector<GpuWork> work_by_stream(const Trace& trace);
/// One entry a device, in that order.
std::vector<GpuWork> work_by_device(const Trace& trace);
/// The same of device_work(trace), for who has it.
std::vector<GpuWork> work_by_device(const DeviceWork& sorted);

}  // namespace headroom::trace
