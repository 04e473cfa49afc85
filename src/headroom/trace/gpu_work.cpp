// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/gpu_work.h"

#include <algorithm>
#include <map>
#include <utility>

namespace headroom::trace {
namespace {

void sort_by_start(const Trace& trace, std::vector<std::uint32_t>& rows) {
  const auto start = [&](std::uint32_t row) { return trace.events.start_ns[trace.gpu[row].event]; };
  // Most files hold the work of a stream in its order.
  if (!std::ranges::is_sorted(rows, {}, start)) std::ranges::stable_sort(rows, {}, start);
}

}  // namespace

std::vector<GpuWork> work_by_stream(const Trace& trace) {
  std::map<std::pair<std::int32_t, std::int64_t>, std::vector<std::uint32_t>> by_stream;
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row)
    by_stream[{device_of(trace, trace.gpu[row]), trace.gpu[row].stream}].push_back(row);
  std::vector<GpuWork> work;
  for (auto& [key, rows] : by_stream) {
    sort_by_start(trace, rows);
    work.push_back({key.first, key.second, std::move(rows)});
  }
  return work;
}

std::vector<GpuWork> work_by_device(const Trace& trace) {
  std::map<std::int32_t, std::vector<std::uint32_t>> by_device;
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row)
    by_device[device_of(trace, trace.gpu[row])].push_back(row);
  std::vector<GpuWork> work;
  for (auto& [device, rows] : by_device) {
    sort_by_start(trace, rows);
    work.push_back({device, -1, std::move(rows)});
  }
  return work;
}

}  // namespace headroom::trace
