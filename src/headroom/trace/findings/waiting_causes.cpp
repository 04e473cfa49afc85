// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "headroom/base/units.h"
#include "headroom/trace/findings/finding_search.h"
#include "headroom/trace/tables/duration_stats.h"

// Causes in calls that make the host wait for the device: afterwards the device waits for the host.

namespace headroom::trace {
namespace {

/// A wait that begins so soon after an allocation is the allocation's.
constexpr std::int64_t kAtOnceNs = 10'000;
/// A copy up to this is made for what waits for it: a loss, a token, a flag.
constexpr std::int64_t kSmallCopyNs = 10'000;

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
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != Category::kRuntime && events.category[event] != Category::kDriver) continue;
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

/// True where the call follows an allocation of its thread at once: cudaMalloc synchronises by itself, too.
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

/// The waits of one place in the program.
struct WaitSite {
  std::vector<std::uint32_t> waits;  ///< indices of Replay::waits()
  std::uint32_t event = kNone;       ///< the call after which a device had nothing to do for longest
  std::int64_t idle_ns = 0, longest_ns = 0;
  std::vector<Span> idle;
};

std::string site_name(const FindingSearch& search, std::uint32_t call) {
  const Trace& trace = search.trace();
  const std::uint32_t site = site_of(trace, search.parent(), call);
  std::string name(trace.names[trace.events.name[call]]);
  if (site != kNone) name = fmt::format("{} in {}", name, trace.names[trace.events.name[site]]);
  return name;
}

/// Each place with the idle time of the devices in which its waits return: what they can be blamed for.
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
  std::vector<WaitSite> sites;
  for (auto& [name, site] : by_name) {
    if (site.event != kNone) sites.push_back(std::move(site));
  }
  return sites;
}

WhatIf without(const FindingSearch& search, const WaitSite& site) {
  const Trace& trace = search.trace();
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  WhatIf what_if;
  what_if.waits_gone.assign(waits.size(), false);
  for (const std::uint32_t i : site.waits) {
    what_if.waits_gone[i] = true;
    for (const std::uint32_t row : waits[i].rows) {
      const std::uint32_t event = trace.gpu[row].event;
      if (trace.events.category[event] != Category::kGpuMemcpy ||
          trace.events.duration_ns[event] > kSmallCopyNs)
        continue;
      if (what_if.duration_ns.empty()) what_if.duration_ns = recorded_durations(trace);
      what_if.duration_ns[row] = WhatIf::kGone;
    }
  }
  return what_if;
}

Suspicion suspicion_of(const FindingSearch& search, const WaitSite& site, WhatIf what_if) {
  Suspicion suspicion;
  suspicion.kind = FindingKind::kSynchronisation;
  // Once a step is customary, and cheap unless the host has much to do before its next launch.
  const double per_step = static_cast<double>(site.waits.size()) / search.step_count();
  suspicion.least_gain = per_step > 1 ? 0.01 : 0.03;
  suspicion.event = site.event;
  suspicion.what_if = std::move(what_if);
  suspicion.time = merged(site.idle);
  suspicion.evidence = fmt::format(
      "{} waits for the device {} times{}; after that the device has nothing to do for {}, until the host "
      "has launched "
      "again",
      site_name(search, site.event), format_number(per_step), search.steps().empty() ? "" : " a step",
      search.per_step(static_cast<double>(site.idle_ns)));
  suspicion.fix =
      "keep the value on the device (no .item(), .cpu(), print, if on a tensor in the loop), read it every "
      "so many steps, "
      "or copy it with non_blocking=True and look later";
  return suspicion;
}

}  // namespace

void find_device_allocation(FindingSearch& search) {
  const AllocationCalls allocations = allocation_calls(search);
  if (allocations.calls.empty()) return;
  const Events& events = search.trace().events;
  const std::vector<Replay::Wait>& waits = search.replay().waits();
  Suspicion suspicion;
  suspicion.kind = FindingKind::kDeviceAllocation;
  // There is none in a step that has settled: the caching allocator has all it needs.
  suspicion.least_gain = 0.001;
  suspicion.what_if.host_gone = allocations.times;
  suspicion.what_if.waits_gone.assign(waits.size(), false);
  std::size_t followed = 0;
  for (std::uint32_t i = 0; i < waits.size(); ++i) {
    if (!follows_allocation(events, allocations, waits[i].call)) continue;
    suspicion.what_if.waits_gone[i] = true;
    ++followed;
  }
  suspicion.event = *std::ranges::max_element(allocations.calls, {},
                                              [&](std::uint32_t call) { return events.duration_ns[call]; });
  suspicion.time = allocations.times;
  suspicion.evidence =
      fmt::format("{} calls that allocate or free memory take {} of the host's time",
                  allocations.calls.size(), search.per_step(static_cast<double>(length(allocations.times))));
  if (followed > 0) suspicion.evidence += fmt::format(", {} of them wait for the device", followed);
  suspicion.fix =
      "keep shapes the same or allocate the largest first, PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, "
      "no "
      "empty_cache() in the loop";
  search.take(std::move(suspicion));
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
  // The one that gains most is taken first: what the others gain is looked at without it.
  std::vector<std::pair<double, std::size_t>> order;
  for (std::size_t i = 0; i < sites.size(); ++i)
    order.emplace_back(search.gain_ns(without(search, sites[i])), i);
  std::ranges::sort(order, std::greater{});
  for (const auto& [gain, i] : order) search.take(suspicion_of(search, sites[i], without(search, sites[i])));
}

}  // namespace headroom::trace
