// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/launches.h"

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headroom/stats/quantile.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

LaunchKind kind_of(const Trace& trace, const LaunchCall& call) {
  const std::string_view name = trace.event_name(call.call);
  if (call.rows.size() > 1 || name.find("GraphLaunch") != std::string_view::npos) return LaunchKind::kGraph;
  switch (trace.events.category[trace.gpu[call.rows.front()].event]) {
    case Category::kGpuMemcpy:
      return LaunchKind::kMemcpy;
    case Category::kGpuMemset:
      return LaunchKind::kMemset;
    default:
      return LaunchKind::kKernel;
  }
}

std::vector<QueueStep> steps_of(std::vector<std::pair<std::int64_t, int>> changes) {
  std::ranges::sort(changes);
  std::vector<QueueStep> steps;
  std::int64_t length = 0;
  for (std::size_t i = 0; i < changes.size();) {
    const std::int64_t at = changes[i].first;
    const std::int64_t before = length;
    for (; i < changes.size() && changes[i].first == at; ++i) length += changes[i].second;
    if (length != before) steps.push_back({at, length});
  }
  return steps;
}

/// Longest time from the start that makes room to the return of the blocked call.
constexpr std::int64_t kLongestTailNs = 20'000;
/// Tolerated clock difference.
constexpr std::int64_t kClockNs = 2'000;
constexpr std::size_t kLeastDepth = 64;

/// By launch, the queue length including it when its call returned.
std::vector<std::size_t> lengths_at_return(std::span<const QueuedLaunch> launches) {
  std::vector<std::int64_t> starts;
  starts.reserve(launches.size());
  for (const QueuedLaunch& one : launches)
    starts.push_back(starts.empty() ? one.start_ns : std::max(starts.back(), one.start_ns));
  std::vector<std::size_t> lengths;
  lengths.reserve(launches.size());
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto started = static_cast<std::size_t>(
        std::ranges::upper_bound(starts, launches[i].end_ns + kClockNs) - starts.begin());
    lengths.push_back(i + 1 - std::min(i + 1, started));
  }
  return lengths;
}

bool waits_for(const QueuedLaunch& call, std::int64_t start_ns) {
  const std::int64_t tail = call.end_ns - start_ns;
  return call.begin_ns < start_ns && tail >= -kClockNs && tail <= kLongestTailNs;
}

bool is_long(const QueuedLaunch& call) {
  return call.end_ns - call.begin_ns >= call.own_ns + std::max<std::int64_t>(1'000, call.own_ns / 2);
}

std::size_t depth_of(std::span<const QueuedLaunch> launches, std::span<const std::size_t> lengths) {
  const std::size_t most = lengths.empty() ? 0 : std::ranges::max(lengths);
  if (most < kLeastDepth) return 0;
  const std::size_t slack = 2 + most / 128;
  std::map<std::size_t, std::size_t> blocked;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (lengths[i] + slack >= most && i >= lengths[i] && is_long(launches[i]) &&
        waits_for(launches[i], launches[i - lengths[i]].start_ns))
      ++blocked[lengths[i]];
  }
  if (blocked.empty()) return 0;
  const std::size_t depth =
      std::ranges::max_element(blocked, {}, [](const auto& entry) { return entry.second; })->first;
  // Once full, every launch blocks until just after a start; other long calls return at any time.
  constexpr std::size_t kLeastInARow = 6;
  constexpr double kMostOthers = 0.05, kMostSpreadNs = 3'000;
  std::vector<double> tails;
  std::size_t others = 0, in_a_row = 0;
  bool was_full = false;
  for (std::size_t i = depth; i < launches.size(); ++i) {
    const std::int64_t start = launches[i - depth].start_ns;
    const bool is_full = launches[i].begin_ns < start;
    in_a_row += is_full && was_full ? 1 : 0;
    was_full = is_full;
    if (!is_full) continue;
    if (waits_for(launches[i], start)) {
      tails.push_back(static_cast<double>(launches[i].end_ns - start));
    } else {
      ++others;
    }
  }
  if (in_a_row < kLeastInARow ||
      static_cast<double>(others) > kMostOthers * static_cast<double>(tails.size()))
    return 0;
  const double spread = quantile_in_place(tails, 0.75) - quantile_in_place(tails, 0.25);
  return spread <= kMostSpreadNs ? depth : 0;
}

/// A very long call behind a long queue, if the depth is unknown.
bool is_held_up(const QueuedLaunch& call, std::size_t length) {
  constexpr std::size_t kLongQueue = 200;
  constexpr std::int64_t kLongNs = 100'000, kManyTimes = 20;
  const std::int64_t time = call.end_ns - call.begin_ns;
  return length >= kLongQueue && time >= kLongNs && time / kManyTimes >= call.own_ns;
}

}  // namespace

const char* to_string(LaunchKind kind) {
  constexpr const char* kNames[] = {"kernel", "memcpy", "memset", "graph"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::vector<LaunchCall> launch_calls(const Trace& trace, std::span<const std::uint32_t> launch) {
  const Events& events = trace.events;
  std::vector<LaunchCall> calls;
  std::unordered_map<std::uint32_t, std::size_t> by_call;
  for (std::uint32_t row = 0; row < launch.size(); ++row) {
    if (launch[row] == kNone) continue;
    const auto [found, is_new] = by_call.emplace(launch[row], calls.size());
    if (is_new) calls.push_back({launch[row], {}, LaunchKind::kKernel});
    calls[found->second].rows.push_back(row);
  }
  for (LaunchCall& call : calls) {
    std::ranges::stable_sort(call.rows, {},
                             [&](std::uint32_t row) { return events.start_ns[trace.gpu[row].event]; });
    call.kind = kind_of(trace, call);
  }
  std::ranges::sort(calls, [&](const LaunchCall& a, const LaunchCall& b) {
    if (events.start_ns[a.call] != events.start_ns[b.call])
      return events.start_ns[a.call] < events.start_ns[b.call];
    return a.call < b.call;
  });
  return calls;
}

Launches::Launches(const Trace& of)
    : trace(of), launch(launches(of)), op(launching_ops(of, launch)), calls(launch_calls(of, launch)) {}

std::int64_t signed_delay_ns(const Trace& trace, std::uint32_t call, std::uint32_t row) {
  return trace.events.start_ns[trace.gpu[row].event] - trace.events.end_ns(call);
}

std::vector<StreamQueue> queue_lengths(const Trace& trace, std::span<const std::uint32_t> launch) {
  std::vector<StreamQueue> queues;
  for (const GpuWork& work : work_by_stream(trace)) {
    StreamQueue& queue = queues.emplace_back();
    queue.device = work.device;
    queue.stream = work.stream;
    std::vector<std::pair<std::int64_t, int>> changes;
    for (const std::uint32_t row : work.rows) {
      if (launch[row] == kNone) {
        ++queue.without_launch;
        continue;
      }
      ++queue.works;
      const std::int64_t launched = trace.events.start_ns[launch[row]];
      const std::int64_t started = trace.events.start_ns[trace.gpu[row].event];
      if (started <= launched) continue;
      changes.emplace_back(launched, 1);
      changes.emplace_back(started, -1);
    }
    queue.steps = steps_of(std::move(changes));
  }
  return queues;
}

std::vector<std::int64_t> usual_call_ns(const Trace& trace, std::span<const std::uint32_t> launch) {
  constexpr std::size_t kMostSampled = 65'536, kFew = 10;
  constexpr double kUndisturbed = 0.1;
  const Events& events = trace.events;
  std::vector<std::vector<double>> times(trace.names.size());
  std::vector<double> all;
  std::vector<bool> is_seen(events.size());
  for (const std::uint32_t call : launch) {
    if (call == kNone || is_seen[call]) continue;
    is_seen[call] = true;
    const auto time = static_cast<double>(events.duration_ns[call]);
    std::vector<double>& of_name = times[events.name[call]];
    if (of_name.size() < kMostSampled) of_name.push_back(time);
    if (all.size() < kMostSampled) all.push_back(time);
  }
  std::vector<std::int64_t> usual(times.size());
  if (all.empty()) return usual;
  const auto summary_records = static_cast<std::int64_t>(quantile_in_place(all, kUndisturbed));
  for (std::size_t name = 0; name < times.size(); ++name) {
    if (times[name].empty()) continue;
    const bool are_few = times[name].size() < kFew;
    usual[name] = static_cast<std::int64_t>(quantile_in_place(times[name], kUndisturbed));
    if (are_few) usual[name] = std::min(usual[name], summary_records);
  }
  return usual;
}

FullQueue full_queue(std::span<const QueuedLaunch> launches) {
  FullQueue full;
  full.blocker.assign(launches.size(), kNone);
  const std::vector<std::size_t> lengths = lengths_at_return(launches);
  full.depth = depth_of(launches, lengths);
  std::vector<double> tails;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::size_t behind = full.depth > 0 ? full.depth : lengths[i];
    if (behind == 0 || i < behind || (full.depth == 0 && !is_held_up(launches[i], behind)) ||
        !waits_for(launches[i], launches[i - behind].start_ns))
      continue;
    full.blocker[i] = static_cast<std::uint32_t>(i - behind);
    tails.push_back(static_cast<double>(launches[i].end_ns - launches[i - behind].start_ns));
  }
  if (!tails.empty()) full.usual_tail_ns = static_cast<std::int64_t>(median(tails));
  return full;
}

QueueSummary summarize(const std::vector<QueueStep>& steps, std::int64_t limit) {
  QueueSummary summary;
  if (steps.empty()) return summary;
  summary.span_ns = steps.back().at_ns - steps.front().at_ns;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
    const std::int64_t time = steps[i + 1].at_ns - steps[i].at_ns;
    const std::int64_t length = steps[i].length;
    summary.max_length = std::max(summary.max_length, length);
    summary.length_ns += static_cast<double>(length) * static_cast<double>(time);
    if (length == 0) summary.empty_ns += time;
    if (length >= limit) summary.blocked_ns += time;
  }
  return summary;
}

}  // namespace headroom::trace
