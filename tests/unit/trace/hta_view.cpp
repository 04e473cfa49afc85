// SPDX-License-Identifier: Apache-2.0
#include "hta_view.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <unordered_map>

namespace headroom::trace {
namespace {

constexpr std::int64_t kEarliest = std::numeric_limits<std::int64_t>::min();

bool starts_with_any(std::string_view name, std::initializer_list<std::string_view> starts) {
  return std::ranges::any_of(starts, [&](std::string_view start) { return name.starts_with(start); });
}

/// By HTA's names.
bool is_named_communication(std::string_view name) {
  return starts_with_any(name, {"nccl", "hip", "hccl"}) || name.find("ncclKernel") != std::string_view::npos;
}

bool is_named_compute(std::string_view name) {
  if (is_named_communication(name) || starts_with_any(name, {"runFunction", "job_exe", "packet", "pe_exe"}))
    return false;
  for (const std::string_view part : {"Memcpy", "Memset", "dma", "Sync", "Stream Wait Event"}) {
    if (name.find(part) != std::string_view::npos) return false;
  }
  return true;
}

template <typename Intervals>
std::int64_t total_of(const Intervals& intervals) {
  std::int64_t sum = 0;
  for (const auto& [start, end] : intervals) sum += end - start;
  return sum;
}

}  // namespace

bool HtaView::is_communication(const HtaEvent& event) const {
  if (ways_.knows_few_communications || !is_gpu_work(trace_.events.category[event.event]))
    return is_named_communication(name_of(event));
  return types_[trace_.events.detail[event.event]] == KernelType::kCommunication;
}

bool HtaView::is_compute(const HtaEvent& event) const {
  return is_named_compute(name_of(event)) && !is_communication(event);
}

HtaEvent HtaView::seen(std::uint32_t event) const {
  const Events& events = trace_.events;
  HtaEvent one{event, events.start_ns[event] - trace_.base_time_ns, 0, -1, kNone};
  one.end_ns = one.start_ns + events.duration_ns[event];
  if (ways_.rounds) {
    const auto us = [](std::int64_t ns) { return static_cast<double>(static_cast<long double>(ns) / 1000); };
    const double start = us(one.start_ns), end = start + us(events.duration_ns[event]);
    one.start_ns = 1000 * static_cast<std::int64_t>(std::ceil(start));
    one.end_ns = 1000 * static_cast<std::int64_t>(std::floor(end));
  }
  if (!ways_.keeps_reversed_work) one.end_ns = std::max(one.start_ns, one.end_ns);
  const std::uint32_t detail = events.detail[event];
  if (detail != kNone && is_gpu_work(events.category[event])) one.stream = trace_.gpu[detail].stream;
  if (detail != kNone && ways_.counts_syncs && events.category[event] == Category::kGpuSync)
    one.stream = std::max<std::int64_t>(-1, trace_.syncs[detail].stream);
  // Which stream does not matter: it has no correlation, and only what has one is an interval of a stream.
  if (ways_.counts_triton_operators && events.category[event] == Category::kCpuOp &&
      trace_.names[events.name[event]].starts_with("triton_"))
    one.stream = 0;
  return one;
}

bool HtaView::is_on_gpu(const HtaEvent& event) const {
  const std::string_view name = name_of(event);
  return (event.stream >= 0 && trace_.events.correlation[event.event] >= 0) || name == "Event Sync" ||
         name == "Context Sync";
}

HtaView::HtaView(const Trace& trace, const HtaWays& ways)
    : trace_(trace), ways_(ways), types_(kernel_types(trace)) {
  std::vector<HtaEvent> gpu, cpu;
  std::unordered_map<std::int64_t, std::uint32_t> launch;
  std::set<std::string_view> steps;
  std::int64_t last_step_ns = kEarliest;
  for (std::uint32_t event = 0; event < trace.events.size(); ++event) {
    const HtaEvent one = seen(event);
    if (is_on_gpu(one)) {
      gpu.push_back(one);
      continue;
    }
    // Of what is on the CPU only launches, operators with a stream and the first event matter to any figure.
    const std::int64_t correlation = trace.events.correlation[event];
    if (correlation != kNoCorrelation || one.stream != -1 || event == 0) cpu.push_back(one);
    if (correlation != kNoCorrelation) launch[correlation] = event;
    if (!name_of(one).starts_with("ProfilerStep#")) continue;
    steps.insert(name_of(one));
    last_step_ns = std::max(last_step_ns, one.start_ns);
  }
  for (HtaEvent& event : gpu) {
    const auto found = launch.find(trace.events.correlation[event.event]);
    if (found != launch.end())
      event.launch = found->second;
    else if (ways.missing_launch_is_first_event)
      event.launch = 0;
  }
  if (ways.steps == HtaWays::Steps::kAll || steps.size() < 2) {
    std::ranges::merge(gpu, cpu, std::back_inserter(events_), {}, &HtaEvent::event, &HtaEvent::event);
  } else {
    keep_launched(std::move(gpu), std::move(cpu), last_step_ns);
  }
}

void HtaView::keep_launched(std::vector<HtaEvent> gpu, std::vector<HtaEvent> cpu, std::int64_t last_step_ns) {
  if (ways_.steps == HtaWays::Steps::kBeforeLast)
    std::erase_if(cpu, [&](const HtaEvent& event) { return event.start_ns >= last_step_ns; });
  std::unordered_map<std::int64_t, int> launches;
  for (const HtaEvent& event : cpu) ++launches[trace_.events.correlation[event.event]];
  for (const HtaEvent& event : gpu) {
    // Once for each of them: HTA joins two tables.
    const auto found = launches.find(trace_.events.correlation[event.event]);
    if (found != launches.end()) events_.insert(events_.end(), found->second, event);
  }
  events_.insert(events_.end(), cpu.begin(), cpu.end());
}

Trace HtaView::as_trace() const {
  Trace made;
  made.threads = trace_.threads;
  for (const HtaEvent& one : events_) {
    const auto row = static_cast<std::uint32_t>(made.events.size());
    made.events.start_ns.push_back(one.start_ns);
    made.events.duration_ns.push_back(std::max<std::int64_t>(0, one.duration_ns()));
    made.events.name.push_back(made.names.intern(name_of(one)));
    made.events.thread.push_back(trace_.events.thread[one.event]);
    made.events.category.push_back(trace_.events.category[one.event]);
    made.events.correlation.push_back(trace_.events.correlation[one.event]);
    made.events.detail.push_back(kNone);
    if (!is_gpu_work(trace_.events.category[one.event])) continue;
    made.events.detail.back() = static_cast<std::uint32_t>(made.gpu.size());
    made.gpu.push_back(trace_.gpu[trace_.events.detail[one.event]]);
    made.gpu.back().event = row;
  }
  return made;
}

/// A new interval begins where a start is after all ends so far.
template <typename Wanted>
std::vector<HtaView::Interval> HtaView::merged_intervals(Wanted wanted) const {
  std::vector<Interval> all;
  for (const HtaEvent& event : events_) {
    if (event.stream != -1 && wanted(event)) all.emplace_back(event.start_ns, event.end_ns);
  }
  std::ranges::stable_sort(all, {}, &Interval::first);
  std::vector<Interval> merged;
  std::int64_t latest = kEarliest;
  for (const Interval& one : all) {
    if (merged.empty() || one.first > latest) {
      merged.push_back(one);
    } else {
      merged.back().second = std::max(merged.back().second, one.second);
    }
    latest = std::max(latest, one.second);
  }
  return merged;
}

std::optional<HtaView::Temporal> HtaView::temporal() const {
  const std::vector<Interval> all = merged_intervals([](const HtaEvent&) { return true; });
  Temporal times;
  if (all.empty()) return times;
  times.span_ns = all.back().second - all.front().first;
  times.idle_ns = times.span_ns - total_of(all);
  times.compute_ns = total_of(merged_intervals([&](const HtaEvent& event) { return is_compute(event); }));
  times.non_compute_ns = times.span_ns - times.compute_ns - times.idle_ns;
  if (times.non_compute_ns < 0) return std::nullopt;
  return times;
}

std::optional<double> HtaView::Overlap::percent() const {
  if (communication_ns == 0) return std::nullopt;
  const double share = static_cast<double>(both_ns) / static_cast<double>(communication_ns);
  return std::nearbyint(10'000 * share) / 100;
}

HtaView::Overlap HtaView::overlap() const {
  const std::vector<Interval> communication =
      merged_intervals([&](const HtaEvent& event) { return is_communication(event); });
  std::vector<std::pair<std::int64_t, int>> changes;
  const auto add = [&](const std::vector<Interval>& intervals, int step) {
    for (const auto& [start, end] : intervals) {
      changes.emplace_back(start, step);
      changes.emplace_back(end, -step);
    }
  };
  add(communication, 1);
  add(merged_intervals([&](const HtaEvent& event) { return is_compute(event); }), 2);
  std::ranges::stable_sort(changes, {}, [](const auto& change) { return change.first; });
  Overlap overlap{0, total_of(communication)};
  int running = 0;
  for (std::size_t i = 0; i + 1 < changes.size(); ++i) {
    running += changes[i].second;
    if (running == 3) overlap.both_ns += changes[i + 1].first - changes[i].first;
  }
  return overlap;
}

HtaView::Idle HtaView::idle() const {
  constexpr std::int64_t kThresholdNs = 30'000;
  std::map<std::int64_t, std::vector<HtaEvent>> streams;
  std::unordered_map<std::uint32_t, std::int64_t> start_ns;
  for (const HtaEvent& event : events_) {
    start_ns.emplace(event.event, event.start_ns);
    if (event.stream != -1 && is_gpu_work(trace_.events.category[event.event]))
      streams[event.stream].push_back(event);
  }
  Idle idle;
  for (auto& [stream, works] : streams) {
    std::ranges::stable_sort(works, {}, &HtaEvent::start_ns);
    std::int64_t before = works.front().end_ns;
    for (const HtaEvent& work : std::span(works).subspan(1)) {
      const std::int64_t interval = work.start_ns - before;
      const auto launched = start_ns.find(work.launch);
      const bool is_late = launched != start_ns.end() && launched->second > before;
      before = ways_.idles_from_work_before ? work.end_ns : std::max(before, work.end_ns);
      if (!ways_.idles_from_work_before && interval <= 0) continue;
      auto& [time, count] = idle[{stream, is_late                   ? "host_wait"
                                          : interval < kThresholdNs ? "kernel_wait"
                                                                    : "other"}];
      time += interval;
      ++count;
    }
  }
  return idle;
}

void HtaView::Launch::add(std::int64_t call_ns, std::int64_t gpu_ns, std::int64_t delay_ns) {
  ++launches;
  call_total_ns += call_ns;
  gpu_total_ns += gpu_ns;
  delay_total_ns += delay_ns;
  call_max_ns = std::max(call_max_ns, call_ns);
  gpu_max_ns = std::max(gpu_max_ns, gpu_ns);
  delay_max_ns = std::max(delay_max_ns, delay_ns);
}

bool HtaView::knows_launch_function(std::string_view name) {
  return name == "cudaLaunchKernel" || name == "cudaLaunchKernelExC" || name == "cudaMemcpyAsync" ||
         name == "cudaMemsetAsync";
}

HtaView::Launch HtaView::launch() const {
  std::unordered_map<std::int64_t, HtaEvent> calls;
  for (const HtaEvent& event : events_) {
    if (event.stream == -1 && knows_launch_function(name_of(event)))
      calls[trace_.events.correlation[event.event]] = event;
  }
  Launch sum;
  for (const HtaEvent& event : events_) {
    if (event.stream == -1) continue;
    const auto call = calls.find(trace_.events.correlation[event.event]);
    if (call != calls.end())
      sum.add(call->second.duration_ns(), event.duration_ns(),
              std::max<std::int64_t>(0, event.start_ns - call->second.end_ns));
  }
  return sum;
}

}  // namespace headroom::trace
