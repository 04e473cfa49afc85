// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/device_work.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace headroom::trace {
namespace {

constexpr std::size_t kComputeBit = 1,
                      kCommunicationBit = 2;  // the three sets below are in bit order; memory is 4

void append(Spans& spans, std::int64_t start, std::int64_t end) {
  if (end <= start) return;
  if (!spans.empty() && start <= spans.back().end) {
    spans.back().end = std::max(spans.back().end, end);
  } else {
    spans.push_back({start, end});
  }
}

Spans& times_at(DeviceTimes& times, KernelType type) {
  return type == KernelType::kCompute         ? times.compute
         : type == KernelType::kCommunication ? times.communication
                                              : times.memory;
}

/// Worst case, so that growing never copies; unused memory is never touched.
void make_room(const DeviceWork& work, const std::vector<KernelType>& types,
               std::vector<DeviceTimes>& by_device) {
  std::vector<std::array<std::size_t, 3>> counts(by_device.size());
  for (const DeviceWork::Item& item : work.items)
    ++counts[item.device][static_cast<std::size_t>(types[item.row])];
  for (std::size_t device = 0; device < counts.size(); ++device) {
    for (const KernelType type : {KernelType::kCompute, KernelType::kCommunication, KernelType::kMemory})
      times_at(by_device[device], type).reserve(counts[device][static_cast<std::size_t>(type)]);
  }
}

std::uint32_t index_of(std::vector<std::int32_t>& devices, std::int32_t device) {
  const auto found = std::ranges::find(devices, device);
  if (found == devices.end()) {
    devices.push_back(device);
    return static_cast<std::uint32_t>(devices.size() - 1);
  }
  return static_cast<std::uint32_t>(found - devices.begin());
}

Breakdown compute_breakdown(const DeviceTimes& times) {
  Breakdown sums;
  const std::array<const Spans*, 3> sets{&times.compute, &times.communication, &times.memory};
  std::ranges::copy(time_by_combination(sets), sums.combinations.begin());
  sums.span_ns = times.extent.length_ns();
  for (std::size_t mask = 1; mask < sums.combinations.size(); ++mask) {
    const std::int64_t time = sums.combinations[mask];
    const bool computing = (mask & kComputeBit) != 0, communicating = (mask & kCommunicationBit) != 0;
    sums.busy_ns += time;
    if (communicating) sums.communication_ns += time;
    if (computing && communicating) sums.overlapped_ns += time;
    (computing       ? sums.compute_ns
     : communicating ? sums.exposed_communication_ns
                     : sums.exposed_memory_ns) += time;
  }
  sums.idle_ns = sums.span_ns - sums.busy_ns;
  return sums;
}

const DeviceProperties* properties_of(const Trace& trace, const GpuDetail& kernel) {
  const auto found = std::ranges::find(trace.devices, device_of(trace, kernel), &DeviceProperties::id);
  return found == trace.devices.end() ? nullptr : &*found;
}

double volume(const std::uint32_t (&extent)[3]) {
  return static_cast<double>(extent[0]) * static_cast<double>(extent[1]) * static_cast<double>(extent[2]);
}

std::vector<Cell> row_of(std::string device, std::string name, const Breakdown& times,
                         std::int64_t matmul_ns) {
  return {std::move(device),
          std::move(name),
          times.span_ns,
          times.busy_ns,
          share_cell(times.busy_ns, times.span_ns),
          times.compute_ns,
          times.exposed_communication_ns,
          times.exposed_memory_ns,
          times.idle_ns,
          matmul_ns,
          share_cell(matmul_ns, times.span_ns)};
}

}  // namespace

DeviceWork device_work(const Trace& trace) {
  DeviceWork work;
  work.items.reserve(trace.gpu.size());
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const GpuDetail& detail = trace.gpu[row];
    const std::int64_t start = trace.events.start_ns[detail.event];
    work.items.push_back({start, row, index_of(work.devices, device_of(trace, detail))});
  }
  if (!std::ranges::is_sorted(work.devices)) {
    const std::vector<std::int32_t> found = work.devices;
    std::ranges::sort(work.devices);
    for (DeviceWork::Item& item : work.items) {
      const auto place = std::ranges::lower_bound(work.devices, found[item.device]);
      item.device = static_cast<std::uint32_t>(place - work.devices.begin());
    }
  }
  merge_runs(std::span(work.items),
             [](const DeviceWork::Item& a, const DeviceWork::Item& b) { return a.start_ns < b.start_ns; });
  return work;
}

std::vector<Spans> busy_times(const Trace& trace, const DeviceWork& work, const std::vector<bool>& rows) {
  std::vector<Spans> by_device(work.devices.size());
  for (const DeviceWork::Item& item : work.items) {
    if (rows[item.row]) append(by_device[item.device], item.start_ns, end_of(trace, item));
  }
  return by_device;
}

std::vector<DeviceTimes> device_times(const Trace& trace, const DeviceWork& work,
                                      const std::vector<KernelType>& types) {
  std::vector<DeviceTimes> by_device(work.devices.size());
  for (std::size_t i = 0; i < by_device.size(); ++i) {
    by_device[i].device = work.devices[i];
    by_device[i].extent = {std::numeric_limits<std::int64_t>::max(),
                           std::numeric_limits<std::int64_t>::min()};
  }
  make_room(work, types, by_device);
  for (const DeviceWork::Item& item : work.items) {
    DeviceTimes& times = by_device[item.device];
    const std::int64_t end_ns = end_of(trace, item);
    times.extent.start_ns = std::min(times.extent.start_ns, item.start_ns);
    times.extent.end_ns = std::max(times.extent.end_ns, end_ns);
    switch (trace.events.category[trace.gpu[item.row].event]) {
      case Category::kGpuMemcpy:
        ++times.copies;
        break;
      case Category::kGpuMemset:
        ++times.sets;
        break;
      default:
        ++times.kernels;
    }
    append(times_at(times, types[item.row]), item.start_ns, end_ns);
  }
  for (DeviceTimes& times : by_device) times.breakdown = compute_breakdown(times);
  return by_device;
}

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  const auto add = [](std::int64_t& sum, std::int64_t value) { sum = saturating_add(sum, value); };
  add(span_ns, other.span_ns);
  add(busy_ns, other.busy_ns);
  add(idle_ns, other.idle_ns);
  add(compute_ns, other.compute_ns);
  add(exposed_communication_ns, other.exposed_communication_ns);
  add(exposed_memory_ns, other.exposed_memory_ns);
  add(communication_ns, other.communication_ns);
  add(overlapped_ns, other.overlapped_ns);
  for (std::size_t i = 0; i < combinations.size(); ++i) add(combinations[i], other.combinations[i]);
  return *this;
}

Breakdown total(std::span<const DeviceTimes> devices) {
  Breakdown sum;
  for (const DeviceTimes& times : devices) sum += breakdown(times);
  return sum;
}

Breakdown breakdown(const Trace& trace) {
  return total(device_times(trace, device_work(trace), kernel_types(trace)));
}

double utilization(const Trace& trace) {
  return breakdown(trace).utilization();
}

std::string device_text(std::int32_t device) {
  return device < 0 ? "?" : std::to_string(device);
}

std::string device_name(const Trace& trace, std::int32_t device) {
  const auto found = std::ranges::find(trace.devices, device, &DeviceProperties::id);
  return found == trace.devices.end() ? "" : found->name;
}

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

std::optional<KernelNumber> blocks_per_multiprocessor(const Trace& trace, const GpuDetail& kernel) {
  if (kernel.blocks_per_sm >= 0 && std::isfinite(kernel.blocks_per_sm))
    return KernelNumber{static_cast<double>(kernel.blocks_per_sm), true};
  const DeviceProperties* const device = properties_of(trace, kernel);
  const double blocks = volume(kernel.grid);
  if (device == nullptr || device->multiprocessors <= 0 || blocks <= 0) return {};
  return KernelNumber{blocks / device->multiprocessors, false};
}

std::optional<KernelNumber> achieved_occupancy(const Trace& trace, const GpuDetail& kernel) {
  if (kernel.occupancy_percent >= 0 && std::isfinite(kernel.occupancy_percent))
    return KernelNumber{static_cast<double>(kernel.occupancy_percent) / 100, true};
  const DeviceProperties* const device = properties_of(trace, kernel);
  if (device == nullptr || device->max_warps_per_multiprocessor() <= 0) return {};
  double warps = kernel.warps_per_sm;
  if (warps < 0) {
    const auto blocks = blocks_per_multiprocessor(trace, kernel);
    const double threads = volume(kernel.block);
    if (!blocks || threads <= 0) return {};
    warps = blocks->value * std::ceil(threads / device->warp_size);
  }
  return KernelNumber{std::min(1.0, warps / device->max_warps_per_multiprocessor()), false};
}

DataTable device_table(const Trace& trace, std::span<const DeviceTimes> devices,
                       std::span<const Spans> matmul) {
  DataTable table{"devices",
                  "devices",
                  {Column::text("device"), Column::text("name").detail(), Column::time("span_ns"),
                   Column::time("busy_ns"), Column::share("utilization").main(), Column::time("compute_ns"),
                   Column::time("exposed_communication_ns").main(),
                   Column::time("exposed_memory_ns", "exposed copies").detail(), Column::time("idle_ns"),
                   Column::time("matmul_convolution_ns", "matmul+conv"),
                   Column::share("matmul_convolution_share", "of span")}};
  Breakdown sum;
  std::int64_t matmul_sum = 0;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Breakdown times = breakdown(devices[i]);
    const std::int64_t matmul_ns = length(matmul[i]);
    sum += times;
    matmul_sum = saturating_add(matmul_sum, matmul_ns);
    table.rows.push_back(
        row_of(device_text(devices[i].device), device_name(trace, devices[i].device), times, matmul_ns));
  }
  if (devices.size() > 1) table.rows.push_back(row_of("all", "", sum, matmul_sum));
  return table;
}

}  // namespace headroom::trace
