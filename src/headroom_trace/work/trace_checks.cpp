// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/trace_checks.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <unordered_set>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

void add(TraceCheck& check, std::uint32_t event, std::int64_t by_ns = -1) {
  if (check.count++ == 0) check.example = event;
  check.largest_ns = std::max(check.largest_ns, by_ns);
}

TraceCheck nesting(const Trace& trace) {
  TraceCheck check{"CPU events that overlap without nesting",
                   "their self times and the op above a launch are guesses"};
  constexpr CategoryMask kCalls = mask_of(Category::kCpuOp) | mask_of(Category::kRuntime) |
                                  mask_of(Category::kDriver) | mask_of(Category::kUserAnnotation) |
                                  mask_of(Category::kPython);
  const std::vector<std::uint32_t> parent = parents(trace, kCalls);
  const Events& events = trace.events;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if ((mask_of(events.category[i]) & kCalls) == 0) continue;
    ++check.of;
    if (parent[i] == kNone) continue;
    const std::int64_t beyond = events.end_ns(i) - events.end_ns(parent[i]);
    if (beyond > 0) add(check, i, beyond);
  }
  return check;
}

/// Programmatic dependent launch starts before the previous kernel of the stream ends.
bool may_start_early(const Events& events, std::uint32_t ahead, std::uint32_t event) {
  return events.category[ahead] == Category::kKernel && events.category[event] == Category::kKernel &&
         events.start_ns[event] > events.start_ns[ahead] && events.end_ns(event) >= events.end_ns(ahead);
}

/// The second check counts early kernels.
std::array<TraceCheck, 2> stream_order(const Trace& trace) {
  TraceCheck check{"GPU work that overlaps on its stream",
                   "a stream runs one thing at a time: clock drift, or duplicate events"};
  TraceCheck early{"kernels that start before the one ahead of them ends",
                   "intended with programmatic dependent launch; else clock drift", false};
  const Events& events = trace.events;
  check.of = early.of = trace.gpu.size();
  for (const GpuWork& stream : work_by_stream(trace)) {
    std::uint32_t last = trace.gpu[stream.rows.front()].event;
    for (const std::uint32_t row : stream.rows) {
      const std::uint32_t event = trace.gpu[row].event;
      const std::int64_t by_ns = event == last ? 0 : events.end_ns(last) - events.start_ns[event];
      if (by_ns > 0) add(may_start_early(events, last, event) ? early : check, event, by_ns);
      if (events.end_ns(event) >= events.end_ns(last)) last = event;
    }
  }
  return {check, early};
}

TraceCheck twice(const Trace& trace) {
  TraceCheck check{"duplicate GPU work", "counted twice; was the trace merged from several?"};
  const Events& events = trace.events;
  check.of = trace.gpu.size();
  const auto key = [&](std::uint32_t row) {
    const std::uint32_t i = trace.gpu[row].event;
    return std::tuple(events.name[i], events.duration_ns[i], events.correlation[i]);
  };
  for (const GpuWork& stream : work_by_stream(trace)) {
    for (std::size_t i = 1; i < stream.rows.size(); ++i) {
      const std::uint32_t before = stream.rows[i - 1], row = stream.rows[i];
      const bool together = events.start_ns[trace.gpu[before].event] == events.start_ns[trace.gpu[row].event];
      if (together && key(before) == key(row)) add(check, trace.gpu[row].event);
    }
  }
  return check;
}

TraceCheck without_correlation(const Trace& trace) {
  TraceCheck check{"GPU work without a correlation", "its op and launch are unknown"};
  check.of = trace.gpu.size();
  for (const GpuDetail& work : trace.gpu) {
    if (trace.events.correlation[work.event] == kNoCorrelation) add(check, work.event);
  }
  return check;
}

TraceCheck without_launch(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  TraceCheck check{"GPU work without a recorded launch",
                   "some at the start is usual: it was launched before the recording", false};
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    if (trace.events.correlation[event] == kNoCorrelation) continue;
    ++check.of;
    if (launch[row] == kNone) add(check, event);
  }
  return check;
}

/// Launches are known by name: other runtime calls carry correlations too.
TraceCheck without_kernel(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  TraceCheck check{"launches without GPU work",
                   "some at the end is usual: the recording stopped before the device", false};
  std::unordered_set<std::int64_t> launched;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    if (launch[row] != kNone) launched.insert(trace.events.correlation[launch[row]]);
  }
  std::vector<signed char> is_launch(trace.names.size(), -1);
  const Events& events = trace.events;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.category[i] != Category::kRuntime && events.category[i] != Category::kDriver) continue;
    signed char& known = is_launch[events.name[i]];
    if (known < 0) known = trace.names[events.name[i]].find("Launch") != std::string_view::npos ? 1 : 0;
    if (known == 0) continue;
    ++check.of;
    if (!launched.contains(events.correlation[i])) add(check, i);
  }
  return check;
}

TraceCheck before_launch(const Trace& trace, const std::vector<std::uint32_t>& launch) {
  TraceCheck check{"GPU work that starts before its launch",
                   "the clocks of CPU and GPU differ: launch delays are wrong by as much"};
  const Events& events = trace.events;
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    if (launch[row] == kNone) continue;
    ++check.of;
    const std::uint32_t event = trace.gpu[row].event;
    const std::int64_t early = events.start_ns[launch[row]] - events.start_ns[event];
    if (early > 0) add(check, event, early);
  }
  return check;
}

TraceCheck without_duration(const Trace& trace) {
  TraceCheck check{"GPU work of zero duration", "shorter than the clock's tick, or never ended", false};
  check.of = trace.gpu.size();
  for (const GpuDetail& work : trace.gpu) {
    if (trace.events.duration_ns[work.event] == 0) add(check, work.event);
  }
  return check;
}

TraceCheck far_away(const Trace& trace) {
  TraceCheck check{"events far from all others", "times of another clock: spans and idle time are wrong"};
  const std::vector<std::int64_t>& starts = trace.events.start_ns;
  check.of = starts.size();
  if (starts.size() < 3) return check;
  std::vector<std::int64_t> sorted = starts;
  const auto at = [&](double share) {
    const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(sorted.size() - 1));
    std::ranges::nth_element(sorted, sorted.begin() + place);
    return sorted[static_cast<std::size_t>(place)];
  };
  constexpr std::int64_t kSecond = 1'000'000'000;
  const std::int64_t low = at(0.1), high = at(0.9);
  const double reach = 100 * static_cast<double>(std::max<std::int64_t>(high - low, kSecond));
  for (std::uint32_t i = 0; i < starts.size(); ++i) {
    const std::int64_t distance = std::max(low - starts[i], starts[i] - high);
    if (static_cast<double>(distance) > reach) add(check, i, distance);
  }
  return check;
}

TraceCheck arrows(const Trace& trace) {
  TraceCheck check{"flow events with one end", "viewers leave them out; no analysis here reads them", false};
  std::vector<std::tuple<NameId, std::int64_t, bool>> ends;
  for (const Flow& flow : trace.flows) ends.emplace_back(flow.category, flow.id, flow.is_start);
  std::ranges::sort(ends);
  for (std::size_t i = 0; i < ends.size();) {
    const NameId category = std::get<0>(ends[i]);
    const std::int64_t id = std::get<1>(ends[i]);
    bool starts = false, stops = false;
    for (; i < ends.size() && std::get<0>(ends[i]) == category && std::get<1>(ends[i]) == id; ++i)
      (std::get<2>(ends[i]) ? starts : stops) = true;
    ++check.of;
    if (!starts || !stops) ++check.count;
  }
  return check;
}

}  // namespace

std::vector<TraceCheck> trace_checks(const Trace& trace) {
  const std::vector<std::uint32_t> launch = launches(trace);
  const auto [overlapping, early] = stream_order(trace);
  return {nesting(trace),
          overlapping,
          early,
          twice(trace),
          without_correlation(trace),
          without_launch(trace, launch),
          without_kernel(trace, launch),
          before_launch(trace, launch),
          without_duration(trace),
          far_away(trace),
          arrows(trace)};
}

}  // namespace headroom::trace
