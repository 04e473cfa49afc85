// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/gpu_work.h"

#include <map>
#include <utility>

#include "headroom/trace/work/device_work.h"

namespace headroom::trace {

std::vector<GpuWork> work_by_stream(const Trace& trace) {
  const DeviceWork sorted = device_work(trace);
  std::map<std::pair<std::int32_t, std::int64_t>, std::vector<std::uint32_t>> by_stream;
  for (const DeviceWork::Item& item : sorted.items)
    by_stream[{sorted.devices[item.device], trace.gpu[item.row].stream}].push_back(item.row);
  std::vector<GpuWork> work;
  for (auto& [key, rows] : by_stream) work.push_back({key.first, key.second, std::move(rows)});
  return work;
}

std::vector<GpuWork> work_by_device(const Trace& trace) {
  return work_by_device(device_work(trace));
}

std::vector<GpuWork> work_by_device(const DeviceWork& sorted) {
  std::vector<GpuWork> work;
  for (const std::int32_t device : sorted.devices) work.push_back({device, -1, {}});
  for (const DeviceWork::Item& item : sorted.items) work[item.device].rows.push_back(item.row);
  return work;
}

}  // namespace headroom::trace
