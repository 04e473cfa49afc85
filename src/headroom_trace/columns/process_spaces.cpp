// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/columns/process_spaces.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {
namespace {

constexpr std::uint32_t kNoProcess = kNone;

struct SpaceProcess {
  std::uint32_t first_event = kNone;
  bool has_calls = false, has_work = false;
  std::optional<std::int64_t> rank;
};

struct SpaceProcesses {
  std::vector<SpaceProcess> all;
  std::vector<std::uint32_t> of_thread;
};

std::optional<std::int64_t> rank_of_process(std::string_view name) {
  constexpr std::string_view kRank = "rank ";
  if (!name.starts_with(kRank)) return std::nullopt;
  name.remove_prefix(kRank.size());
  std::int64_t rank = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), rank);
  const bool is_whole = end == name.data() + name.size() || *end == ':';
  return error == std::errc{} && is_whole ? std::optional(rank) : std::nullopt;
}

SpaceProcesses processes_of(const Trace& trace) {
  SpaceProcesses processes;
  std::unordered_map<std::string_view, std::uint32_t> by_pid;
  for (const Thread& thread : trace.threads) {
    const auto [found, is_new] =
        by_pid.try_emplace(thread.pid, static_cast<std::uint32_t>(processes.all.size()));
    if (is_new) processes.all.push_back({.rank = rank_of_process(thread.process_name)});
    processes.of_thread.push_back(found->second);
  }
  return processes;
}

bool is_host_call(Category category) {
  return category == Category::kRuntime || category == Category::kDriver;
}

void add_work(const Trace& trace, SpaceProcesses& processes) {
  for (const GpuDetail& work : trace.gpu)
    processes.all[processes.of_thread[trace.events.thread[work.event]]].has_work = true;
}

void add_events(const Trace& trace, SpaceProcesses& processes) {
  for (std::uint32_t event = 0; event < trace.events.size(); ++event) {
    SpaceProcess& process = processes.all[processes.of_thread[trace.events.thread[event]]];
    process.first_event = std::min(process.first_event, event);
    process.has_calls = process.has_calls || (is_host_call(trace.events.category[event]) &&
                                              trace.events.correlation[event] != kNoCorrelation);
  }
}

struct CorrelatedEvent {
  std::int64_t correlation = 0, start_ns = 0;
  std::uint32_t process = 0;
};

template <typename Wanted>
std::vector<CorrelatedEvent> correlated(const Trace& trace, const SpaceProcesses& processes, Wanted wanted) {
  std::vector<CorrelatedEvent> found;
  for (std::uint32_t event = 0; event < trace.events.size(); ++event) {
    if (!wanted(trace.events.category[event]) || trace.events.correlation[event] == kNoCorrelation) continue;
    found.push_back({trace.events.correlation[event], trace.events.start_ns[event],
                     processes.of_thread[trace.events.thread[event]]});
  }
  std::ranges::sort(found, {}, &CorrelatedEvent::correlation);
  return found;
}

/// Number of works that begin after a call with their correlation, by device and host process.
using SharedCorrelations = std::map<std::pair<std::uint32_t, std::uint32_t>, std::size_t>;

SharedCorrelations shared_correlations(const Trace& trace, const SpaceProcesses& processes) {
  const auto calls = correlated(trace, processes, is_host_call);
  const auto work = correlated(trace, processes, is_gpu_work);
  SharedCorrelations shared;
  auto first = calls.begin();
  for (const CorrelatedEvent& one : work) {
    while (first != calls.end() && first->correlation < one.correlation) ++first;
    for (auto call = first; call != calls.end() && call->correlation == one.correlation; ++call) {
      if (call->start_ns <= one.start_ns) ++shared[{one.process, call->process}];
    }
  }
  return shared;
}

/// kNoProcess if unknown.
std::vector<std::uint32_t> hosts_of(const Trace& trace, const SpaceProcesses& processes,
                                    std::span<const std::uint32_t> in_order) {
  const auto shared = shared_correlations(trace, processes);
  std::vector<std::uint32_t> host(processes.all.size(), kNoProcess);
  std::vector<std::uint32_t> devices, undecided;
  for (const std::uint32_t process : in_order) {
    const SpaceProcess& one = processes.all[process];
    if (one.has_calls) host[process] = process;
    if (one.has_work && !one.has_calls) devices.push_back(process);
  }
  // Ranks of one program have almost equal correlations.
  const auto equals = [&](std::uint32_t device) {
    std::size_t best = 0;
    std::vector<std::pair<std::uint32_t, std::size_t>> counts;
    for (const std::uint32_t process : in_order) {
      const auto found = shared.find({device, process});
      if (found == shared.end()) continue;
      counts.emplace_back(process, found->second);
      best = std::max(best, found->second);
    }
    std::vector<std::uint32_t> hosts;
    for (const auto& [process, count] : counts) {
      if (100 * count >= 99 * best) hosts.push_back(process);
    }
    return hosts;
  };
  for (const std::uint32_t device : devices) {
    const std::vector<std::uint32_t> hosts = equals(device);
    if (hosts.size() == 1) host[device] = hosts.front();
    if (hosts.size() > 1) undecided.push_back(device);
  }
  // In concatenated files devices follow their hosts; otherwise both are in rank order.
  const auto last_before = [&](std::uint32_t device, const std::vector<std::uint32_t>& hosts) {
    std::uint32_t last = hosts.front();
    for (const std::uint32_t one : hosts) {
      if (processes.all[one].first_event < processes.all[device].first_event) last = one;
    }
    return last;
  };
  std::vector<std::uint32_t> latest;
  std::vector<bool> has_device(processes.all.size());
  for (const std::uint32_t device : undecided) {
    latest.push_back(last_before(device, equals(device)));
    has_device[latest.back()] = true;
  }
  for (const std::uint32_t device : devices) {
    if (host[device] != kNoProcess) has_device[host[device]] = true;
  }
  for (std::size_t i = 0; i < undecided.size(); ++i) {
    const std::vector<std::uint32_t> hosts = equals(undecided[i]);
    const bool all_have_one = std::ranges::all_of(hosts, [&](std::uint32_t one) { return has_device[one]; });
    host[undecided[i]] = all_have_one ? latest[i] : hosts[i * hosts.size() / undecided.size()];
  }
  return host;
}

template <typename Value>
std::vector<Value> distinct(std::vector<Value> values) {
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

/// Nothing unless all working or calling processes name a rank.
std::optional<ProcessSpaces> spaces_by_name(const SpaceProcesses& processes) {
  std::vector<std::int64_t> ranks;
  for (const SpaceProcess& one : processes.all) {
    if ((one.has_calls || one.has_work) && !one.rank) return std::nullopt;
    if (one.rank) ranks.push_back(*one.rank);
  }
  ProcessSpaces spaces{.of_thread = {}, .rank = distinct(std::move(ranks))};
  spaces.count = static_cast<std::uint32_t>(spaces.rank.size());
  for (const std::uint32_t process : processes.of_thread) {
    const auto place = std::ranges::lower_bound(spaces.rank, processes.all[process].rank.value_or(0));
    const auto space = static_cast<std::uint32_t>(place - spaces.rank.begin());
    spaces.of_thread.push_back(std::min(space, spaces.count - 1));
  }
  return spaces;
}

ProcessSpaces spaces_by_correlations(const Trace& trace, const SpaceProcesses& processes) {
  std::vector<std::uint32_t> in_order;
  for (std::uint32_t process = 0; process < processes.all.size(); ++process) {
    if (processes.all[process].first_event != kNone) in_order.push_back(process);
  }
  std::ranges::sort(in_order, {}, [&](std::uint32_t one) { return processes.all[one].first_event; });
  const std::vector<std::uint32_t> host = hosts_of(trace, processes, in_order);
  std::vector<std::uint32_t> space_of(processes.all.size(), kNone);
  ProcessSpaces spaces{.count = 0};
  const auto has_devices = [&](std::uint32_t process) {
    return std::ranges::any_of(
        in_order, [&](std::uint32_t one) { return processes.all[one].has_work && host[one] == process; });
  };
  for (const std::uint32_t process : in_order) {
    if (processes.all[process].has_calls && has_devices(process)) space_of[process] = spaces.count++;
  }
  if (spaces.count < 2) return {};
  std::uint32_t last = 0;
  for (const std::uint32_t process : in_order) {
    if (space_of[process] == kNone && host[process] != kNoProcess)
      space_of[process] = space_of[host[process]];
    if (space_of[process] == kNone) space_of[process] = last;
    if (processes.all[process].has_calls) last = space_of[process];
  }
  for (const std::uint32_t process : processes.of_thread)
    spaces.of_thread.push_back(space_of[process] == kNone ? 0 : space_of[process]);
  for (std::uint32_t space = 0; space < spaces.count; ++space) spaces.rank.push_back(space);
  return spaces;
}

}  // namespace

ProcessSpaces process_spaces(const Trace& trace) {
  SpaceProcesses processes = processes_of(trace);
  constexpr std::size_t kFewest = 4;  // two hosts and two devices
  if (processes.all.size() < kFewest) return {};
  add_work(trace, processes);
  if (std::ranges::count_if(processes.all, &SpaceProcess::has_work) < 2) return {};
  add_events(trace, processes);
  if (std::ranges::count_if(processes.all, &SpaceProcess::has_calls) < 2) return {};
  if (auto spaces = spaces_by_name(processes)) return spaces->count > 1 ? *spaces : ProcessSpaces{};
  return spaces_by_correlations(trace, processes);
}

Trace rank_of(const Trace& trace, const ProcessSpaces& spaces, std::uint32_t space) {
  const auto is_other = [&](std::uint32_t thread) {
    return thread == kNone || spaces.of_thread[thread] != space;
  };
  std::vector<bool> is_own(trace.events.size());
  for (std::uint32_t event = 0; event < trace.events.size(); ++event)
    is_own[event] = !is_other(trace.events.thread[event]);
  Trace rank = subset(trace, is_own);
  std::erase_if(rank.memory, [&](const MemoryEvent& one) { return is_other(one.thread); });
  std::erase_if(rank.flows, [&](const Flow& one) { return is_other(one.thread); });
  rank.rank = spaces.rank[space];
  rank.world_size = spaces.count;
  rank.events_skipped_by_need = rank.events_without_columns = 0;
  rank.problems = {};
  rank.memory_pools.clear();
  rank.events_seen = rank.events.size() + rank.memory.size() + rank.flows.size();
  return rank;
}

}  // namespace headroom::trace
