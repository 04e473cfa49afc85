// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/stats/quantile.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/findings/finding_search.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/launches.h"
#include "headroom_trace/work/memory.h"

namespace headroom::trace {

namespace {

/// A wait this soon after an allocation belongs to it.
constexpr std::int64_t kAtOnceNs = 10'000;
/// Copies made for their waiter: a loss, a token, a flag.
constexpr std::int64_t kSmallCopyNs = 10'000;
constexpr std::int64_t kFirstUseNs = 1'000'000, kTimesUsual = 20;

/// The first slow call by name, except launches.
std::vector<std::uint32_t> first_calls(const FindingSearch& search) {
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  std::vector<bool> launches(events.size());
  for (const std::uint32_t call : search.launch()) {
    if (call != kNone) launches[call] = true;
  }
  std::vector<std::uint32_t> first(trace.names.size(), kNone);
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != Category::kRuntime && events.category[event] != Category::kDriver) continue;
    std::uint32_t& of_name = first[events.name[event]];
    if (of_name == kNone || events.start_ns[event] < events.start_ns[of_name]) of_name = event;
  }
  std::erase_if(first, [&](std::uint32_t event) {
    return event == kNone || launches[event] || events.duration_ns[event] < kFirstUseNs;
  });
  return first;
}

/// Calls that make a context or load a library (cudaFree, cudaStreamCreate): with idle devices, and
/// either far slower than later calls or the only call and before all GPU work.
std::vector<std::uint32_t> first_uses(const FindingSearch& search) {
  constexpr std::int64_t kBusyPart = 10;
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  std::vector<std::uint32_t> found = first_calls(search);
  if (found.empty()) return found;
  std::map<NameId, std::vector<double>> later;
  for (const std::uint32_t event : found) later[events.name[event]];
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != Category::kRuntime && events.category[event] != Category::kDriver) continue;
    const auto of_name = later.find(events.name[event]);
    if (of_name != later.end() && std::ranges::find(found, event) == found.end())
      of_name->second.push_back(static_cast<double>(events.duration_ns[event]));
  }
  Spans busy;
  for (const DeviceTimes& device : search.devices()) busy = unite(busy, device.busy());
  std::erase_if(found, [&](std::uint32_t event) {
    const std::vector<double>& others = later[events.name[event]];
    const std::int64_t duration = events.duration_ns[event];
    const bool is_far_longer =
        others.empty() ? busy.empty() || events.start_ns[event] < busy.front().start
                       : static_cast<double>(duration) >= static_cast<double>(kTimesUsual) * median(others);
    return !is_far_longer ||
           length_within(busy, {events.start_ns[event], events.end_ns(event)}) > duration / kBusyPart;
  });
  return found;
}

struct AllocationCalls {
  std::vector<std::uint32_t> calls;  ///< by thread and start
  Spans times;
};

AllocationCalls allocation_calls(const FindingSearch& search) {
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  AllocationCalls found;
  std::vector<Span> times;
  std::vector<std::int8_t> known(trace.names.size(), -1);
  const std::vector<std::uint32_t> others =
      search.has_found(FindingKind::kFirstUse, "") ? first_uses(search) : std::vector<std::uint32_t>{};
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != Category::kRuntime && events.category[event] != Category::kDriver) continue;
    if (std::ranges::find(others, event) != others.end()) continue;
    if (events.start_ns[event] < search.window().start || events.end_ns(event) > search.window().end)
      continue;
    std::int8_t& is_allocation = known[events.name[event]];
    if (is_allocation < 0) is_allocation = is_allocation_call(trace.names[events.name[event]]) ? 1 : 0;
    if (is_allocation == 0) continue;
    found.calls.push_back(event);
    times.push_back({events.start_ns[event], events.end_ns(event)});
  }
  std::ranges::sort(found.calls, [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(events.thread[a], events.start_ns[a]) < std::pair(events.thread[b], events.start_ns[b]);
  });
  found.times = merged(std::move(times));
  return found;
}

/// True directly after an allocation: cudaMalloc synchronises too.
bool follows_allocation(const Events& events, const AllocationCalls& allocations, std::uint32_t call) {
  const auto key = [&](std::uint32_t event) {
    return std::pair(events.thread[event], events.start_ns[event]);
  };
  const auto next = std::ranges::upper_bound(allocations.calls, key(call), {}, key);
  if (next == allocations.calls.begin()) return false;
  const std::uint32_t before = *std::prev(next);
  const std::int64_t since = events.start_ns[call] - events.end_ns(before);
  return events.thread[before] == events.thread[call] && since >= 0 && since <= kAtOnceNs;
}

struct WaitSite {
  std::vector<std::uint32_t> waits;  ///< indices of Replay::waits()
  std::uint32_t event = kNone;       ///< precedes the longest device idle time
  std::int64_t idle_ns = 0, longest_ns = 0;
  std::vector<Span> idle;
};

std::string site_name(const FindingSearch& search, std::uint32_t call) {
  const Trace& trace = search.trace();
  const std::uint32_t site = site_of(trace, search.parent(), call);
  std::string name(trace.event_name(call));
  if (site != kNone) name = fmt::format("{} in {}", name, trace.event_name(site));
  return name;
}

/// True in the same operator or, without one, directly after.
bool is_part_of(const FindingSearch& search, std::uint32_t call, std::uint32_t earlier) {
  const Events& events = search.trace().events;
  const std::uint32_t site = site_of(search.trace(), search.parent(), call);
  if (site != site_of(search.trace(), search.parent(), earlier)) return false;
  if (site != kNone && events.category[site] == Category::kCpuOp) return true;
  const std::int64_t since = events.start_ns[call] - events.end_ns(earlier);
  return events.thread[call] == events.thread[earlier] && since >= 0 && since <= kAtOnceNs;
}

/// Adds waits that returned at once, but would wait without the others: of the same place or for the same
/// work (a synchronisation after a pageable copy).
void add_short_waits(const FindingSearch& search, std::map<std::string, WaitSite>& sites) {
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  std::map<std::uint32_t, std::pair<WaitSite*, std::uint32_t>> by_row;
  for (auto& [name, site] : sites) {
    for (const std::uint32_t wait : site.waits) {
      for (const std::uint32_t row : waits[wait].rows) by_row[row] = {&site, waits[wait].call};
    }
  }
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    if (waits[i].has_waited) continue;
    if (const auto same = sites.find(site_name(search, waits[i].call)); same != sites.end()) {
      same->second.waits.push_back(i);
      continue;
    }
    if (waits[i].rows.empty()) continue;
    const auto before = by_row.find(waits[i].rows.front());
    if (before == by_row.end() || !is_part_of(search, waits[i].call, before->second.second)) continue;
    before->second.first->waits.push_back(i);
  }
}

std::vector<WaitSite> wait_sites(const FindingSearch& search, const AllocationCalls& allocations) {
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  const Events& events = search.trace().events;
  std::map<std::string, WaitSite> by_name;
  std::vector<const DeviceGap*> gaps;
  for (const DeviceGap& gap : search.culprits().gaps) gaps.push_back(&gap);
  std::ranges::sort(gaps, {}, [](const DeviceGap* gap) { return gap->time.start; });
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    const std::uint32_t call = waits[i].call;
    if (!waits[i].has_waited || follows_allocation(events, allocations, call)) continue;
    WaitSite& site = by_name[site_name(search, call)];
    site.waits.push_back(i);
    const std::int64_t returned = events.end_ns(call);
    const auto next =
        std::ranges::upper_bound(gaps, returned, {}, [](const DeviceGap* gap) { return gap->time.start; });
    if (next == gaps.begin()) continue;
    const DeviceGap& gap = **std::prev(next);
    if (gap.time.end < returned || gap.host_until_ns < returned) continue;
    const std::int64_t idle = gap.time.end - gap.time.start;
    site.idle_ns = saturating_add(site.idle_ns, idle);
    site.idle.push_back(gap.time);
    if (site.event == kNone || idle > site.longest_ns) {
      site.event = call;
      site.longest_ns = idle;
    }
  }
  add_short_waits(search, by_name);
  std::vector<WaitSite> sites;
  for (auto& [name, site] : by_name) {
    if (site.event != kNone) sites.push_back(std::move(site));
  }
  return sites;
}

/// Host time of removed calls, with enclosing operators that do nothing else, such as aten::item.
/// `is_removed` is by event.
Spans removed_spans(const FindingSearch& search, std::span<const std::uint32_t> removed,
                    const std::vector<bool>& is_removed) {
  constexpr std::int64_t kLittleElseNs = 50'000;
  const Events& events = search.trace().events;
  std::vector<bool> has_other_work(events.size());
  const auto mark = [&](std::uint32_t call) {
    if (call == kNone || is_removed[call]) return;
    for (std::uint32_t event = call; event != kNone && !has_other_work[event]; event = search.parent()[event])
      has_other_work[event] = true;
  };
  for (const std::uint32_t call : search.launch()) mark(call);
  for (const Replay::Wait& wait : search.replay().waits()) mark(wait.call);
  std::vector<Span> times;
  std::map<std::uint32_t, std::int64_t> else_ns;
  for (const std::uint32_t call : removed) {
    times.push_back({events.start_ns[call], events.end_ns(call)});
    for (std::uint32_t event = search.parent()[call]; event != kNone && !has_other_work[event];
         event = search.parent()[event]) {
      if (events.category[event] != Category::kCpuOp) break;
      else_ns.try_emplace(event, events.duration_ns[event]).first->second -= events.duration_ns[call];
    }
  }
  for (const auto& [event, ns] : else_ns) {
    if (ns <= kLittleElseNs) times.push_back({events.start_ns[event], events.end_ns(event)});
  }
  return merged(std::move(times));
}

bool is_copy_from_host(const FindingSearch& search, const WaitSite& site) {
  const Trace& trace = search.trace();
  const Replay::Wait& wait = search.replay().waits()[site.waits.front()];
  return std::ranges::any_of(wait.rows, [&](std::uint32_t row) {
    return search.launch()[row] == wait.call && contains(trace.event_name(trace.gpu[row].event), "HtoD");
  });
}

/// "3.93 ms a step, the longest 4.00 ms for sgemm".
std::string waited_text(const FindingSearch& search, const WaitSite& site) {
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  const auto end_of_row = [&](std::uint32_t row) { return events.end_ns(trace.gpu[row].event); };
  std::int64_t total_ns = 0, longest_ns = -1;
  std::uint32_t last = kNone;
  for (const std::uint32_t i : site.waits) {
    const Replay::Wait& wait = search.replay().waits()[i];
    if (!wait.has_waited || wait.rows.empty()) continue;
    const std::uint32_t row = *std::ranges::max_element(wait.rows, {}, end_of_row);
    const std::int64_t waited_ns =
        std::min(events.end_ns(wait.call), end_of_row(row)) - events.start_ns[wait.call];
    total_ns = saturating_add(total_ns, waited_ns);
    if (waited_ns <= longest_ns) continue;
    longest_ns = waited_ns;
    last = trace.gpu[row].event;
  }
  if (last == kNone) return "";
  return fmt::format(" ({}, longest {} for {})", search.per_step(static_cast<double>(total_ns)),
                     format_time_ns(static_cast<double>(longest_ns)),
                     kernel_base_name(trace.names[events.name[last]]));
}

WhatIf without(const FindingSearch& search, const WaitSite& site) {
  const Trace& trace = search.trace();
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  WhatIf what_if;
  what_if.waits_removed.assign(waits.size(), false);
  std::vector<std::uint32_t> calls;
  std::vector<bool> is_removed(trace.events.size());
  const auto leave_out = [&](std::uint32_t call) {
    if (call == kNone || is_removed[call]) return;
    is_removed[call] = true;
    calls.push_back(call);
  };
  for (const std::uint32_t i : site.waits) {
    what_if.waits_removed[i] = true;
    leave_out(waits[i].call);
    for (const std::uint32_t row : waits[i].rows) {
      const std::uint32_t event = trace.gpu[row].event;
      if (trace.events.category[event] != Category::kGpuMemcpy ||
          trace.events.duration_ns[event] > kSmallCopyNs)
        continue;
      if (what_if.duration_ns.empty()) what_if.duration_ns = recorded_durations(trace);
      what_if.duration_ns[row] = WhatIf::kRemoved;
      leave_out(search.launch()[row]);
    }
  }
  if (is_copy_from_host(search, site)) return what_if;  // a copy that does not wait still needs its call
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    const bool stays = what_if.duration_ns.empty() || what_if.duration_ns[row] != WhatIf::kRemoved;
    if (stays && search.launch()[row] != kNone) is_removed[search.launch()[row]] = false;
  }
  std::erase_if(calls, [&](std::uint32_t call) { return !is_removed[call]; });
  what_if.host_removed = removed_spans(search, calls, is_removed);
  return what_if;
}

/// `gain_ns` is per step.
CandidateCause candidate_cause(const FindingSearch& search, const WaitSite& site, WhatIf what_if,
                               double gain_ns) {
  constexpr double kFarMore = 2;
  CandidateCause candidate{.kind = FindingKind::kSynchronisation};
  // One wait per step is usual and cheap.
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  const auto count =
      std::ranges::count_if(site.waits, [&](std::uint32_t wait) { return waits[wait].has_waited; });
  const double per_step = static_cast<double>(count) / search.step_count();
  candidate.least_gain = per_step > 1 ? 0.01 : 0.03;
  candidate.event = site.event;
  candidate.what_if = std::move(what_if);
  candidate.time = merged(site.idle);
  candidate.evidence = fmt::format(
      "{} waits for the GPU {} times{}{}; GPU idle for {} after that, until the CPU launches again",
      site_name(search, site.event), format_number(per_step), search.steps().empty() ? "" : " per step",
      waited_text(search, site), search.per_step(static_cast<double>(site.idle_ns)));
  if (gain_ns * search.step_count() > kFarMore * static_cast<double>(site.idle_ns))
    candidate.evidence += "; without the waits the CPU would run ahead and later launches would be on time";
  candidate.fix = search.advice(is_copy_from_host(search, site) ? Advice::kPinMemory : Advice::kReadLater);
  return candidate;
}

}  // namespace

void find_device_allocation(FindingSearch& search) {
  const AllocationCalls allocations = allocation_calls(search);
  if (allocations.calls.empty()) return;
  const Events& events = search.trace().events;
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  CandidateCause candidate{.kind = FindingKind::kDeviceAllocation};
  // Usually none in a settled step.
  candidate.least_gain = 0.001;
  candidate.what_if.host_removed = allocations.times;
  candidate.what_if.waits_removed.assign(waits.size(), false);
  std::size_t followed = 0;
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    if (!follows_allocation(events, allocations, waits[i].call)) continue;
    candidate.what_if.waits_removed[i] = true;
    ++followed;
  }
  candidate.event = *std::ranges::max_element(allocations.calls, {},
                                              [&](std::uint32_t call) { return events.duration_ns[call]; });
  candidate.time = allocations.times;
  candidate.evidence =
      fmt::format("{} calls that allocate or free GPU memory take {} of CPU time", allocations.calls.size(),
                  search.per_step(static_cast<double>(length(allocations.times))));
  if (followed > 0) candidate.evidence += fmt::format(", {} of them wait for the GPU", followed);
  candidate.fix = search.advice(Advice::kReuseMemory);
  search.take(std::move(candidate));
}

void find_synchronisation(FindingSearch& search) {
  constexpr std::size_t kMostSites = 6;
  constexpr double kLeastGain = 0.01;
  std::vector<WaitSite> sites = wait_sites(search, allocation_calls(search));
  std::ranges::stable_sort(sites, std::greater{}, &WaitSite::idle_ns);
  if (sites.size() > kMostSites) sites.resize(kMostSites);
  std::erase_if(sites, [&](const WaitSite& site) {
    return !search.is_enough(static_cast<double>(site.idle_ns) / search.step_count(), kLeastGain);
  });
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < sites.size(); ++i)
    order.emplace_back(search.gain_ns(without(search, sites[i])), i);
  std::ranges::sort(order, std::greater{});
  for (const auto& [gain, i] : order)
    search.take(candidate_cause(search, sites[i], without(search, sites[i]), gain));
}

namespace {

constexpr std::int64_t kSlowCallNs = 100'000, kSlowGraphCallNs = 1'000'000;
constexpr std::int64_t kMostOwnNs = 10'000;

std::string_view call_name(const FindingSearch& search, std::uint32_t call) {
  return search.trace().names[search.trace().events.name[call]];
}

/// Excludes copies, which may wait for their own work.
bool is_slow_call(const FindingSearch& search, const DeviceGap& gap) {
  const Events& events = search.trace().events;
  if (gap.call == kNone || gap.next == kNone ||
      events.category[search.trace().gpu[gap.next].event] != Category::kKernel)
    return false;
  const bool is_graph = contains(call_name(search, gap.call), "GraphLaunch");
  return gap.call_until_ns - gap.host_until_ns >= (is_graph ? kSlowGraphCallNs : kSlowCallNs);
}

bool is_first_use_call(std::string_view name) {
  constexpr std::array<std::string_view, 7> kParts{"ModuleLoad",   "LibraryLoad",  "GraphInstantiate",
                                                   "EndCapture",   "cublasCreate", "cudnnCreate",
                                                   "hipblasCreate"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return contains(name, part); });
}

std::vector<bool> first_rows(const Trace& trace) {
  std::vector<std::uint32_t> first(trace.names.size(), kNone);
  const auto start_of = [&](std::uint32_t row) { return trace.events.start_ns[trace.gpu[row].event]; };
  for (std::uint32_t row = 0; row < trace.gpu.size(); ++row) {
    std::uint32_t& of_name = first[trace.events.name[trace.gpu[row].event]];
    if (of_name == kNone || start_of(row) < start_of(of_name)) of_name = row;
  }
  std::vector<bool> is_first(trace.gpu.size());
  for (const std::uint32_t row : first) {
    if (row != kNone) is_first[row] = true;
  }
  return is_first;
}

struct SlowCalls {
  std::vector<std::uint32_t> calls;
  std::vector<Span> removed, idle;
  std::int64_t total_ns = 0;
  std::uint32_t longest = kNone;
  WhatIf what_if;

  void add(const FindingSearch& search, std::uint32_t call, std::int64_t own_ns, Span idle_time) {
    const Events& events = search.trace().events;
    calls.push_back(call);
    removed.push_back({events.start_ns[call], events.end_ns(call) - own_ns});
    idle.push_back(idle_time);
    total_ns = saturating_add(total_ns, events.duration_ns[call]);
    if (longest == kNone || events.duration_ns[call] > events.duration_ns[longest]) longest = call;
  }
  void add_launch(const FindingSearch& search, const DeviceGap& gap, std::int64_t own_ns) {
    add(search, gap.call, own_ns, {gap.host_until_ns, gap.call_until_ns});
    if (what_if.delays_removed.empty()) what_if.delays_removed.assign(search.trace().gpu.size(), false);
    if (!gap.is_device_late()) what_if.delays_removed[gap.next] = true;
  }
};

CandidateCause candidate_cause(const FindingSearch& search, FindingKind kind, SlowCalls slow) {
  CandidateCause candidate{.kind = kind, .least_gain = 0.02};
  candidate.event = slow.longest;
  candidate.time = merged(std::move(slow.idle));
  candidate.what_if = std::move(slow.what_if);
  candidate.what_if.host_removed = merged(std::move(slow.removed));
  const auto longest_ns = static_cast<double>(search.trace().events.duration_ns[slow.longest]);
  const bool is_one = slow.calls.size() == 1;
  candidate.evidence = is_one ? fmt::format("one {} call takes {}", call_name(search, slow.longest),
                                            format_time_ns(longest_ns))
                              : fmt::format("{} calls take {}, longest {} ({})", slow.calls.size(),
                                            search.per_step(static_cast<double>(slow.total_ns)),
                                            format_time_ns(longest_ns), call_name(search, slow.longest));
  candidate.evidence += "; GPU idle meanwhile";
  return candidate;
}

/// Separates first uses, which are far slower.
void add_slow_launches(const FindingSearch& search, const std::vector<const DeviceGap*>& slow,
                       SlowCalls& first_use, SlowCalls& slow_launch) {
  constexpr std::int64_t kRare = 100;
  if (slow.empty()) return;
  const Events& events = search.trace().events;
  const std::vector<std::int64_t> usual = usual_call_ns(search.trace(), search.launch());
  const std::vector<bool> is_first = first_rows(search.trace());
  std::vector<double> later;
  for (const DeviceGap* gap : slow) {
    if (!is_first[gap->next]) later.push_back(static_cast<double>(events.duration_ns[gap->call]));
  }
  const auto launches =
      std::ranges::count_if(search.launch(), [](std::uint32_t call) { return call != kNone; });
  const bool are_rare = std::ssize(later) <= std::max<std::int64_t>(1, launches / kRare);
  const std::int64_t usual_slow = are_rare ? 0 : static_cast<std::int64_t>(median(std::move(later)));
  for (const DeviceGap* gap : slow) {
    const std::int64_t duration = events.duration_ns[gap->call], own = usual[events.name[gap->call]];
    const bool is_first_use = (are_rare || is_first[gap->next]) && duration >= kFirstUseNs &&
                              duration / kTimesUsual >= std::max(own, usual_slow);
    (is_first_use ? first_use : slow_launch).add_launch(search, *gap, std::min({own, kMostOwnNs, duration}));
  }
}

}  // namespace

void find_slow_calls(FindingSearch& search) {
  const IdleCulprits& culprits = search.culprits();
  std::vector<const DeviceGap*> slow;
  for (const DeviceGap& gap : culprits.gaps) {
    if (is_slow_call(search, gap)) slow.push_back(&gap);
  }
  SlowCalls first_use, slow_launch;
  add_slow_launches(search, slow, first_use, slow_launch);
  const std::vector<std::uint32_t> first = first_uses(search);
  NamePredicate is_of_first_use(search.trace(), is_first_use_call);
  std::uint32_t last = kNone;
  for (const IdlePart& part : culprits.parts) {
    if (part.event == kNone || part.event == last) continue;
    const bool is_call = part.doing == HostActivity::kLaunch || part.doing == HostActivity::kAllocation;
    if (!is_call || (!is_of_first_use(search.trace().events.name[part.event]) &&
                     std::ranges::find(first, part.event) == first.end()))
      continue;
    last = part.event;
    first_use.add(search, part.event, 0, part.time);
  }
  if (!first_use.calls.empty()) {
    CandidateCause candidate = candidate_cause(search, FindingKind::kFirstUse, std::move(first_use));
    candidate.evidence += "; typical of a first use: loading code or a library, building a graph";
    candidate.fix = search.advice(Advice::kWarmUp);
    search.take(std::move(candidate));
  }
  if (!slow_launch.calls.empty()) {
    CandidateCause candidate = candidate_cause(search, FindingKind::kSlowLaunch, std::move(slow_launch));
    candidate.fix = search.advice(Advice::kFreeHost);
    search.take(std::move(candidate));
  }
}

void find_late_devices(FindingSearch& search) {
  const Trace& trace = search.trace();
  const Events& events = trace.events;
  CandidateCause candidate{.kind = FindingKind::kDeviceLate, .least_gain = 0.02};
  candidate.what_if.delays_removed.assign(trace.gpu.size(), false);
  const DeviceGap* longest = nullptr;
  const auto late_ns = [](const DeviceGap& gap) { return gap.time.end - gap.late_from_ns; };
  std::vector<Span> times;
  std::int64_t total_ns = 0;
  const std::vector<DeviceGap> gaps = search.launched_gaps();
  for (const DeviceGap& gap : gaps) {
    if (!gap.is_device_late()) continue;
    candidate.what_if.delays_removed[gap.next] = true;
    times.push_back({gap.late_from_ns, gap.time.end});
    total_ns = saturating_add(total_ns, late_ns(gap));
    if (longest == nullptr || late_ns(gap) > late_ns(*longest)) longest = &gap;
    // All work of these streams was late: marks their first.
    for (const StreamOrder& stream : search.streams()) {
      if (stream.device != gap.device) continue;
      const auto row = std::ranges::lower_bound(stream.rows, gap.time.end, {}, [&](std::uint32_t of) {
        return events.start_ns[trace.gpu[of].event];
      });
      if (row == stream.rows.end()) continue;
      const std::uint32_t call = search.launch()[*row];
      if (call != kNone && events.end_ns(call) < gap.time.end) candidate.what_if.delays_removed[*row] = true;
    }
  }
  if (longest == nullptr) return;
  candidate.event = longest->call;
  const std::string most =
      fmt::format("{} before {}", format_time_ns(static_cast<double>(late_ns(*longest))),
                  kernel_base_name(trace.names[events.name[trace.gpu[longest->next].event]]));
  candidate.evidence =
      times.size() == 1
          ? fmt::format("a launch has returned, but the idle GPU starts its work late: {}", most)
          : fmt::format("{} launches have returned, but the idle GPU starts their work late: {}, longest {}",
                        times.size(), search.per_step(static_cast<double>(total_ns)), most);
  candidate.time = merged(std::move(times));
  candidate.fix = search.advice(Advice::kFindDeviceWait);
  search.take(std::move(candidate));
}

namespace {

/// Longer gaps are other host work.
constexpr std::int64_t kShortGapNs = 100'000;

struct ActivityCause {
  FindingKind kind;
  HostActivity doing;
  double least_gain;
  Advice fix;
  const char* what;
};
constexpr ActivityCause kActivityCauses[] = {
    {FindingKind::kDataLoading, HostActivity::kDataLoading, 0.03, Advice::kLoadAhead, "waiting for input"},
    {FindingKind::kRecompilation, HostActivity::kCompilation, 0.01, Advice::kCompileOnce,
     "compiling (torch.compile)"},
    {FindingKind::kGarbageCollection, HostActivity::kCollector, 0.01, Advice::kCollectLater,
     "collecting garbage"}};

struct Site {
  std::uint32_t event = kNone;
  std::int64_t longest_ns = 0, total_ns = 0;
  std::vector<Span> times;
};

std::string_view name_of(const FindingSearch& search, std::uint32_t event) {
  return search.trace().names[event == kNone ? kNoName : search.trace().events.name[event]];
}

bool is_other_work(HostActivity doing) {
  return doing == HostActivity::kOperator || doing == HostActivity::kProgram ||
         doing == HostActivity::kNotRecorded || doing == HostActivity::kLaunch;
}

/// Longest first; unrecorded time has no event.
std::vector<Site> long_gap_sites(const FindingSearch& search) {
  std::map<std::string_view, Site> sites;
  const IdleCulprits& culprits = search.culprits();
  for (const IdlePart& part : culprits.parts) {
    const DeviceGap& gap = culprits.gaps[part.gap];
    if (gap.host_until_ns - gap.time.start < kShortGapNs || !is_other_work(part.doing)) continue;
    if (part.time.start >= gap.host_until_ns) continue;
    const std::uint32_t at = site_of(search.trace(), search.parent(), part.event);
    Site& site = sites[name_of(search, at)];
    site.times.push_back(part.time);
    site.total_ns = saturating_add(site.total_ns, part.length_ns());
    if (part.length_ns() > site.longest_ns) {
      site.longest_ns = part.length_ns();
      site.event = part.event;
    }
  }
  std::vector<Site> sorted;
  for (auto& [name, site] : sites) sorted.push_back(std::move(site));
  std::ranges::stable_sort(sorted, std::greater{}, &Site::total_ns);
  return sorted;
}

std::string progress_text(const FindingSearch& search, const Site& site) {
  const std::string where = search.where(site.event);
  return fmt::format("{} in {}", search.per_step(static_cast<double>(site.total_ns)),
                     where.empty() ? "unrecorded code" : where);
}

/// `event_ns`: the time at the site's event.
CandidateCause host_candidate(const FindingSearch& search, const Site& site, std::int64_t event_ns,
                              const std::string& what) {
  CandidateCause candidate{.kind = FindingKind::kHostBound, .least_gain = 0.02};
  candidate.event = site.event;
  candidate.event_ns = site.event == kNone ? 0 : event_ns;
  candidate.place = name_of(search, site_of(search.trace(), search.parent(), site.event));
  candidate.time = merged(site.times);
  candidate.what_if.host_removed = subtract(candidate.time, search.host_removed());
  candidate.evidence = "GPU idle while the CPU is not launching" +
                       (search.on_devices().empty() ? "" : "," + search.on_devices()) + ": " + what;
  candidate.more = ", " + what;
  candidate.fix = search.advice(site.event == kNone ? Advice::kRecordHost : Advice::kMoveHostWork);
  return candidate;
}

}  // namespace

void find_host_activities(FindingSearch& search) {
  for (const ActivityCause& cause : kActivityCauses) {
    CandidateCause candidate{.kind = cause.kind, .least_gain = cause.least_gain};
    candidate.time = search.idle_during(cause.doing);
    if (candidate.time.empty()) continue;
    candidate.what_if.host_removed = candidate.time;
    candidate.event = search.longest_event(cause.doing);
    std::int64_t longest = 0;
    for (const Span& span : candidate.time) longest = std::max(longest, span.end - span.start);
    candidate.evidence =
        fmt::format("{}the CPU is {}: {}, longest {}", search.devices().empty() ? "" : "GPU idle while ",
                    cause.what, search.per_step(static_cast<double>(length(candidate.time))),
                    format_time_ns(static_cast<double>(longest)));
    candidate.fix = search.advice(cause.fix);
    search.take(std::move(candidate));
  }
}

void find_long_host_work(FindingSearch& search) {
  constexpr std::int64_t kLongNs = 500'000;
  constexpr std::size_t kMostSites = 3;
  std::vector<Site> sites = long_gap_sites(search);
  std::erase_if(sites, [](const Site& site) { return site.event == kNone || site.longest_ns < kLongNs; });
  if (sites.size() > kMostSites) sites.resize(kMostSites);
  for (const Site& site : sites)
    search.take(host_candidate(search, site, site.total_ns, progress_text(search, site)));
}

void find_host_bound(FindingSearch& search) {
  constexpr std::size_t kMostNamed = 3;
  Site all;
  std::size_t places = 0;
  std::string named;
  for (Site& site : long_gap_sites(search)) {
    if (search.has_found(FindingKind::kHostBound,
                         name_of(search, site_of(search.trace(), search.parent(), site.event))))
      continue;
    if (places == 0) {
      all.event = site.event;
      all.longest_ns = site.total_ns;
    }
    if (++places <= kMostNamed) named += (named.empty() ? "" : ", ") + progress_text(search, site);
    all.total_ns = saturating_add(all.total_ns, site.total_ns);
    std::ranges::move(site.times, std::back_inserter(all.times));
  }
  if (all.total_ns <= 0) return;
  const std::string time = search.per_step(static_cast<double>(all.total_ns));
  search.take(host_candidate(search, all, all.longest_ns,
                             places > 1 ? fmt::format("{} in {} other places ({}{})", time, places, named,
                                                      places > kMostNamed ? ", ..." : "")
                                        : named));
}

void find_launch_bound(FindingSearch& search) {
  CandidateCause candidate{.kind = FindingKind::kLaunchBound, .least_gain = 0.02};
  candidate.what_if.launched_ahead.assign(search.trace().gpu.size(), false);
  std::vector<Span> host, idle;
  const IdleCulprits& culprits = search.culprits();
  std::vector<bool> follows_wait(culprits.gaps.size());
  for (const IdlePart& part : culprits.parts) {
    if (part.doing == HostActivity::kSynchronisation) follows_wait[part.gap] = true;
  }
  for (std::size_t i = 0; i < culprits.gaps.size(); ++i) {
    const DeviceGap& gap = culprits.gaps[i];
    const std::int64_t late_ns = gap.host_until_ns - gap.time.start;
    if (late_ns <= 0 || late_ns >= kShortGapNs || gap.next == kNone || follows_wait[i]) continue;
    if (is_slow_call(search, gap) || gap.is_device_late()) continue;
    candidate.what_if.launched_ahead[gap.next] = true;
    host.push_back({gap.time.start, gap.host_until_ns});
    idle.push_back(gap.time);
    if (candidate.event == kNone) candidate.event = gap.call;
  }
  if (idle.empty()) return;
  candidate.what_if.host_removed = merged(std::move(host));
  candidate.evidence =
      fmt::format("{} times the GPU ran out of launched work before the next launch", idle.size());
  candidate.more = "; " + candidate.evidence;
  candidate.time = merged(std::move(idle));
  candidate.fix = search.advice(Advice::kLaunchLess);
  search.take(std::move(candidate));
}

namespace {

Spans late_host(const FindingSearch& search) {
  std::vector<Span> spans;
  const bool is_device_late_found = search.has_found(FindingKind::kDeviceLate, "");
  for (const DeviceGap& gap : search.culprits().gaps) {
    const bool is_known = is_device_late_found && gap.is_device_late();
    spans.push_back({gap.time.start, is_known ? gap.time.end : gap.call_until_ns});
  }
  return merged(std::move(spans));
}

}  // namespace

void find_slow_steps(FindingSearch& search) {
  constexpr std::size_t kLeastSteps = 4;
  constexpr double kSlow = 1.3;
  const std::span<const Step> steps = search.steps();
  if (steps.size() < kLeastSteps) return;
  Spans computing;
  for (const DeviceTimes& device : search.devices()) computing = unite(computing, device.compute);
  // Other causes cover compute and late hosts.
  const Spans known = unite(computing, late_host(search));
  std::vector<double> lengths, others;
  for (const Step& step : steps) {
    const Span span{step.start_ns, step.end_ns};
    lengths.push_back(static_cast<double>(span.end - span.start));
    others.push_back(lengths.back() - static_cast<double>(length_within(known, span)));
  }
  const double usual = median(lengths), usual_other = median(others);
  CandidateCause candidate{.kind = FindingKind::kSlowStep};
  double lost = 0;
  std::size_t slow = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (lengths[i] < kSlow * usual || others[i] <= usual_other) continue;
    ++slow;
    lost += others[i] - usual_other;
    candidate.time.push_back({steps[i].start_ns, steps[i].end_ns});
  }
  const double gain = std::min(lost / search.step_count(), search.allowed_ns());
  if (gain <= 0 || !search.is_enough(gain, 0.02)) return;
  candidate.time = merged(std::move(candidate.time));
  const bool has_launches =
      std::ranges::any_of(search.launch(), [](std::uint32_t call) { return call != kNone; });
  candidate.evidence = fmt::format(
      "{} of {} steps take over {} times the median {}; {}", slow, steps.size(), kSlow, format_time_ns(usual),
      has_launches
          ? "neither more compute nor the CPU explains it"
          : "more compute does not explain it; without recorded launches the effect of the CPU is unknown");
  candidate.fix = "compare a slow step with a usual one: `headroom trace critical-path --step N` of each";
  search.add(std::move(candidate), gain);
}

void find_fragmentation(FindingSearch& search) {
  constexpr std::int32_t kCpu = 0;
  constexpr double kMuch = 0.3, kFull = 0.5;
  const Trace& trace = search.trace();
  const auto total_of = [&](std::int32_t id) {
    const auto device = std::ranges::find(trace.devices, id, &DeviceProperties::id);
    return device == trace.devices.end() ? 0 : device->total_memory_bytes;
  };
  const auto is_full = [&](std::int32_t device, std::int64_t reserved) {
    return reserved > 0 && total_of(device) > 0 && static_cast<double>(reserved) >= kFull * total_of(device);
  };
  // A memory history is slow to build.
  if (std::ranges::none_of(trace.memory, [&](const MemoryEvent& event) {
        return event.device_type != kCpu && is_full(event.device, event.total_reserved);
      }))
    return;
  for (const DeviceMemory& memory : memory_history(trace).devices) {
    if (memory.device_type == kCpu || !is_full(memory.device, memory.peak_reserved_bytes)) continue;
    const auto reserved = static_cast<double>(memory.peak_reserved_bytes),
               used = static_cast<double>(memory.allocated_at_peak_reserved_bytes);
    if (reserved - used < kMuch * reserved) continue;
    CandidateCause candidate{.kind = FindingKind::kFragmentation};
    candidate.evidence =
        fmt::format("device {} had reserved {} of its {} but used only {}", memory.device,
                    format_bytes(reserved), format_bytes(total_of(memory.device)), format_bytes(used));
    candidate.time = {{memory.peak_reserved_at_ns, memory.peak_reserved_at_ns + 1}};
    candidate.fix = search.advice(Advice::kExpandSegments);
    search.add(std::move(candidate), 0);
  }
}

}  // namespace headroom::trace
