// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/device_work.h"

#include <algorithm>
#include <limits>

#include "headroom/trace/columns/run_merge.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

constexpr std::size_t kComputeBit = 1,
                      kCommunicationBit = 2;  // and 4 for memory: the order of the sets below

/// Appends to a set what starts no earlier than anything in it.
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

/// Room for the times of all work, so that none of them is copied as they grow: of what is reserved only what
/// is used takes memory.
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

/// The index of the number in `devices`, which it joins when new. Traces have few devices, mostly one.
std::uint32_t index_of(std::vector<std::int32_t>& devices, std::int32_t device) {
  const auto found = std::ranges::find(devices, device);
  if (found == devices.end()) {
    devices.push_back(device);
    return static_cast<std::uint32_t>(devices.size() - 1);
  }
  return static_cast<std::uint32_t>(found - devices.begin());
}

Breakdown worked_out(const DeviceTimes& times) {
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
  for (DeviceTimes& times : by_device) times.breakdown = worked_out(times);
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

}  // namespace headroom::trace
