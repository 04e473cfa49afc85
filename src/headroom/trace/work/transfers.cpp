// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/transfers.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "headroom/trace/columns/kernel_type.h"

namespace headroom::trace {
namespace {

/// Lower case letters and digits only: "MEMORY_COPY_HOST_TO_DEVICE" and "CopyHostToDevice" end alike.
std::string squeezed(std::string_view name) {
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
// In this order: "Memcpy PtoP (Device -> Device)" is between devices.
constexpr std::array<KindName, 20> kKindNames{
    {{"memset", TransferKind::kMemset},     {"fillbuffer", TransferKind::kMemset},
     {"ptop", TransferKind::kPtoP},         {"p2p", TransferKind::kPtoP},
     {"peertopeer", TransferKind::kPtoP},   {"htod", TransferKind::kHtoD},
     {"h2d", TransferKind::kHtoD},          {"m2d", TransferKind::kHtoD},  // XPU: M is the host's memory
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
    // What is left of adding and taking away doubles is no bandwidth.
    if (now.active == 0) now.gb_s = 0;
    steps.push_back(now);
  }
  return steps;
}

}  // namespace

const char* to_string(TransferKind kind) {
  constexpr const char* kNames[] = {"HtoD", "DtoH", "DtoD", "PtoP", "HtoH", "memset", "unknown"};
  return kNames[static_cast<std::size_t>(kind)];
}

TransferKind transfer_kind(std::string_view name) {
  const std::string text = squeezed(name);
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
