// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/allocations.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

using DeviceKey = std::pair<std::int32_t, std::int32_t>;
using AddressKey = std::tuple<std::int32_t, std::int32_t, std::int64_t>;

void add_totals(DeviceMemory& memory, const MemoryEvent& event, std::uint32_t place) {
  std::int64_t in_use = memory.allocated_bytes - memory.freed_bytes;
  if (event.total_allocated >= 0) {
    if (!memory.is_total_known) memory.peak_allocated_bytes = 0;
    memory.is_total_known = true;
    in_use = event.total_allocated;
  } else if (memory.is_total_known) {
    return;
  }
  if (in_use > memory.peak_allocated_bytes) {
    memory.peak_allocated_bytes = in_use;
    memory.peak_allocated_at_ns = event.at_ns;
    memory.peak_place = place;
  }
  if (event.total_reserved > memory.peak_reserved_bytes && event.total_reserved > 0) {
    memory.peak_reserved_bytes = event.total_reserved;
    memory.peak_reserved_at_ns = event.at_ns;
    memory.allocated_at_peak_reserved_bytes = event.total_allocated;
  }
}

}  // namespace

MemoryHistory memory_history(const Trace& trace) {
  std::vector<std::uint32_t> order(trace.memory.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, {}, [&](std::uint32_t row) { return trace.memory[row].at_ns; });
  MemoryHistory history;
  std::map<DeviceKey, DeviceMemory> devices;
  std::map<AddressKey, std::size_t> open;
  const auto end = [&](std::map<AddressKey, std::size_t>::iterator found, std::uint32_t place) {
    if (found == open.end()) return;
    history.allocations[found->second].freed_ns = trace.memory[order[place]].at_ns;
    history.allocations[found->second].until = place;
    open.erase(found);
  };
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    const MemoryEvent& event = trace.memory[order[place]];
    DeviceMemory& memory = devices[{event.device_type, event.device}];
    const AddressKey address{event.device_type, event.device, event.address};
    // What is given out again was free before, whether the file says so or not.
    end(open.find(address), place);
    if (event.bytes >= 0) {
      ++memory.allocations;
      memory.allocated_bytes = saturating_add(memory.allocated_bytes, event.bytes);
      if (event.address != 0) open[address] = history.allocations.size();
      history.allocations.push_back({.device_type = event.device_type,
                                     .device = event.device,
                                     .bytes = event.bytes,
                                     .at_ns = event.at_ns,
                                     .event = order[place],
                                     .from = place,
                                     .has_address = event.address != 0});
    } else {
      ++memory.frees;
      // The number without its sign: the least of 64 bits has none of the other sign.
      memory.freed_bytes = saturating_add(memory.freed_bytes,
                                          -std::max(event.bytes, -std::numeric_limits<std::int64_t>::max()));
    }
    add_totals(memory, event, place);
  }
  std::map<DeviceKey, std::size_t> numbers;
  for (auto& [key, memory] : devices) {
    std::tie(memory.device_type, memory.device) = key;
    numbers[key] = history.devices.size();
    history.devices.push_back(memory);
  }
  history.of_device.resize(history.devices.size());
  for (std::uint32_t i = 0; i < history.allocations.size(); ++i) {
    const Allocation& one = history.allocations[i];
    history.of_device[numbers.at({one.device_type, one.device})].push_back(i);
  }
  return history;
}

std::string device_type_name(std::int32_t device_type) {
  switch (device_type) {
    case 0:
      return "CPU";
    case 1:
      return "CUDA";
    case 6:
      return "HIP";
    case 9:
      return "XLA";
    case 12:
      return "XPU";
    case 13:
      return "MPS";
    case 15:
      return "HPU";
    case 19:
      return "MTIA";
    case 20:
      return "PrivateUse1";
    default:
      return "device type " + std::to_string(device_type);
  }
}

}  // namespace headroom::trace
