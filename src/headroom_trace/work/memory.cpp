// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/memory.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {
namespace {

using DeviceKey = std::pair<std::int32_t, std::int32_t>;
using AddressKey = std::tuple<std::int32_t, std::int32_t, std::int64_t>;

void add_totals(DeviceMemory& memory, const MemoryEvent& event, std::uint32_t place) {
  std::int64_t in_use = memory.left_bytes;
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
  const auto reserved = std::pair(event.total_reserved, event.total_allocated);
  if (event.total_reserved > 0 &&
      reserved > std::pair(memory.peak_reserved_bytes, memory.allocated_at_peak_reserved_bytes)) {
    memory.peak_reserved_bytes = event.total_reserved;
    memory.peak_reserved_at_ns = event.at_ns;
    memory.allocated_at_peak_reserved_bytes = event.total_allocated;
  }
}

/// Letters, in lower case, and digits: "COPY_HOST_TO_DEVICE" becomes "copyhosttodevice".
std::string normalised_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') {
      text += static_cast<char>(c - 'A' + 'a');
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      text += c;
    }
  }
  return text;
}

struct KindName {
  std::string_view part;
  TransferKind kind;
};
// Order matters: "Memcpy PtoP (Device -> Device)" is between devices.
constexpr std::array<KindName, 20> kKindNames{
    {{"memset", TransferKind::kMemset},     {"fillbuffer", TransferKind::kMemset},
     {"ptop", TransferKind::kPtoP},         {"p2p", TransferKind::kPtoP},
     {"peertopeer", TransferKind::kPtoP},   {"htod", TransferKind::kHtoD},
     {"h2d", TransferKind::kHtoD},          {"m2d", TransferKind::kHtoD},  // XPU: M is host memory
     {"hosttodevice", TransferKind::kHtoD}, {"dtoh", TransferKind::kDtoH},
     {"d2h", TransferKind::kDtoH},          {"d2m", TransferKind::kDtoH},
     {"devicetohost", TransferKind::kDtoH}, {"dtod", TransferKind::kDtoD},
     {"d2d", TransferKind::kDtoD},          {"devicetodevice", TransferKind::kDtoD},
     {"copybuffer", TransferKind::kDtoD},   {"htoh", TransferKind::kHtoH},
     {"m2m", TransferKind::kHtoH},          {"hosttohost", TransferKind::kHtoH}}};

struct BandwidthChange {
  std::int64_t at_ns;
  double gb_s;
  std::int32_t active;
};

std::vector<BandwidthStep> steps_of(std::vector<BandwidthChange> changes) {
  std::ranges::stable_sort(changes, {}, &BandwidthChange::at_ns);
  std::vector<BandwidthStep> steps;
  BandwidthStep now;
  for (std::size_t i = 0; i < changes.size();) {
    now.at_ns = changes[i].at_ns;
    for (; i < changes.size() && changes[i].at_ns == now.at_ns; ++i) {
      now.gb_s += changes[i].gb_s;
      now.active += changes[i].active;
    }
    // Removes rounding errors.
    if (now.active == 0) now.gb_s = 0;
    steps.push_back(now);
  }
  return steps;
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
    Allocation& allocation = history.allocations[found->second];
    allocation.freed_ns = trace.memory[order[place]].at_ns;
    allocation.until = place;
    devices.at({allocation.device_type, allocation.device}).left_bytes -= allocation.bytes;
    open.erase(found);
  };
  for (std::uint32_t place = 0; place < order.size(); ++place) {
    const MemoryEvent& event = trace.memory[order[place]];
    DeviceMemory& memory = devices[{event.device_type, event.device}];
    const AddressKey address{event.device_type, event.device, event.address};
    // A reused address was freed.
    end(open.find(address), place);
    if (event.bytes >= 0) {
      ++memory.allocations;
      memory.allocated_bytes = saturating_add(memory.allocated_bytes, event.bytes);
      memory.left_bytes = saturating_add(memory.left_bytes, event.bytes);
      if (event.is_held_before)
        memory.held_before_bytes = saturating_add(memory.held_before_bytes, event.bytes);
      if (event.address != 0) open[address] = history.allocations.size();
      history.allocations.push_back({.device_type = event.device_type,
                                     .device = event.device,
                                     .bytes = event.bytes,
                                     .at_ns = event.at_ns,
                                     .event = order[place],
                                     .from = place,
                                     .has_address = event.address != 0,
                                     .is_held_before = event.is_held_before});
    } else {
      ++memory.frees;
      // Without addresses a free cannot be matched to its allocation.
      if (event.address == 0)
        memory.left_bytes = std::max<std::int64_t>(saturating_add(memory.left_bytes, event.bytes), 0);
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

bool has_only_memory(const Trace& trace) {
  return trace.events.size() == 0 && !(trace.memory.empty() && trace.memory_pools.empty());
}

std::string device_type_name(std::int32_t device_type) {
  constexpr std::pair<std::int32_t, const char*> kNames[] = {{0, "CPU"},  {1, "CUDA"},  {6, "HIP"},
                                                             {9, "XLA"},  {12, "XPU"},  {13, "MPS"},
                                                             {15, "HPU"}, {19, "MTIA"}, {20, "PrivateUse1"}};
  for (const auto& [type, name] : kNames) {
    if (type == device_type) return name;
  }
  return "device type " + std::to_string(device_type);
}

const char* to_string(TransferKind kind) {
  constexpr const char* kNames[] = {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

TransferKind transfer_kind(std::string_view name) {
  const std::string text = normalised_name(name);
  for (const auto& [part, kind] : kKindNames) {
    if (text.find(part) != std::string::npos) return kind;
  }
  return TransferKind::kUnknown;
}

std::string_view transfer_memory(std::string_view name) {
  const std::size_t open = name.find('('), close = name.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};
  return name.substr(open + 1, close - open - 1);
}

std::vector<Transfer> transfers(const Trace& trace) {
  const std::vector<KernelType> types = kernel_types(trace);
  std::map<NameId, TransferKind> kinds;
  std::vector<Transfer> found;
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    if (types[row] != KernelType::kMemory) continue;
    const GpuDetail& work = trace.gpu[row];
    const NameId name = trace.events.name[work.event];
    const auto [kind, is_new] = kinds.emplace(name, TransferKind::kUnknown);
    if (is_new) kind->second = transfer_kind(trace.names[name]);
    Transfer transfer{row,
                      device_of(trace, work),
                      kind->second,
                      trace.events.start_ns[work.event],
                      trace.events.duration_ns[work.event],
                      work.bytes,
                      work.bandwidth_gb_s};
    if (trace.events.category[work.event] == Category::kGpuMemset) transfer.kind = TransferKind::kMemset;
    if (transfer.bandwidth_gb_s < 0 && transfer.bytes >= 0 && transfer.duration_ns > 0)
      transfer.bandwidth_gb_s = transfer.bytes / static_cast<double>(transfer.duration_ns);
    found.push_back(transfer);
  }
  return found;
}

std::vector<BandwidthSeries> bandwidth_series(const std::vector<Transfer>& transfers) {
  struct Group {
    BandwidthSeries series;
    std::vector<BandwidthChange> changes;
  };
  std::map<std::pair<std::int32_t, TransferKind>, Group> groups;
  for (const Transfer& transfer : transfers) {
    auto& [series, changes] = groups[{transfer.device, transfer.kind}];
    ++series.transfers;
    if (!(transfer.bandwidth_gb_s >= 0)) {
      ++series.without_bandwidth;
      continue;
    }
    constexpr std::int64_t kShortestNs = 1000;
    const std::int64_t duration = transfer.duration_ns > 0 ? transfer.duration_ns : kShortestNs;
    changes.push_back({transfer.start_ns, transfer.bandwidth_gb_s, 1});
    changes.push_back({transfer.start_ns + duration, -transfer.bandwidth_gb_s, -1});
  }
  std::vector<BandwidthSeries> found;
  for (auto& [key, group] : groups) {
    group.series.device = key.first;
    group.series.kind = key.second;
    group.series.steps = steps_of(std::move(group.changes));
    found.push_back(std::move(group.series));
  }
  return found;
}

}  // namespace headroom::trace
