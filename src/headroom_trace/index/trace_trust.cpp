// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/index/trace_trust.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {
namespace {

constexpr double kLeastShare = 0.05;  ///< fewer are usual at the ends of a recording
constexpr std::size_t kLeastCount = 3;
constexpr std::size_t kMostName = 40;

void count_event(const Trace& trace, std::uint32_t event, Doubt& doubt) {
  if (doubt.count++ == 0) doubt.example = trace.event_name(event);
  doubt.longest_ns = std::max(doubt.longest_ns, trace.events.duration_ns[event]);
}

/// The central 80 % of sampled starts, and the allowed distance.
struct UsualTimes {
  std::int64_t low = 0, high = 0;
  double reach = 0;
  bool is_far(std::int64_t start_ns) const {
    const double below = static_cast<double>(low) - static_cast<double>(start_ns);
    const double above = static_cast<double>(start_ns) - static_cast<double>(high);
    return std::max(below, above) > reach;
  }
};

UsualTimes usual_times(const std::vector<std::int64_t>& starts) {
  constexpr std::size_t kSample = 4096;
  constexpr double kFar = 100, kSecond = 1e9;
  std::vector<std::int64_t> sample;
  const std::size_t stride = starts.size() / kSample + 1;
  for (std::size_t i = 0; i < starts.size(); i += stride) sample.push_back(starts[i]);
  std::ranges::sort(sample);
  UsualTimes usual{sample[sample.size() / 10], sample[sample.size() - 1 - sample.size() / 10]};
  usual.reach = kFar * std::max(static_cast<double>(usual.high) - static_cast<double>(usual.low), kSecond);
  return usual;
}

std::vector<std::uint32_t> far_events(const Trace& trace) {
  constexpr std::size_t kFewest = 10;
  const std::vector<std::int64_t>& starts = trace.events.start_ns;
  std::vector<std::uint32_t> far;
  if (starts.size() < kFewest) return far;
  const UsualTimes usual = usual_times(starts);
  for (std::uint32_t event = 0; event < starts.size(); ++event) {
    if (usual.is_far(starts[event])) far.push_back(event);
  }
  return far;
}

std::int64_t median_duration(const Trace& trace, NameId name) {
  std::vector<std::int64_t> durations;
  for (const GpuDetail& work : trace.gpu) {
    if (trace.events.name[work.event] == name) durations.push_back(trace.events.duration_ns[work.event]);
  }
  const auto middle = durations.begin() + std::ssize(durations) / 2;
  std::ranges::nth_element(durations, middle);
  return *middle;
}

std::vector<std::uint32_t> enclosing_work(const TraceIndex& index) {
  struct Stream {
    std::uint32_t last = kNone;
    std::size_t inside = 0;
  };
  constexpr std::size_t kLeastInside = 2;
  const Trace& trace = index.trace();
  std::map<std::pair<std::uint32_t, std::int64_t>, Stream> streams;
  std::vector<std::uint32_t> enclosing;
  std::pair<std::uint32_t, std::int64_t> key;
  Stream* stream = nullptr;  // neighbours mostly share a stream
  for (const DeviceWork::Item& item : index.work().items) {
    const GpuDetail& work = trace.gpu[item.row];
    const std::pair own{item.device, work.stream};
    if (stream == nullptr || own != key) stream = &streams[own];
    key = own;
    if (stream->last != kNone && trace.events.end_ns(work.event) < trace.events.end_ns(stream->last)) {
      if (++stream->inside == kLeastInside) enclosing.push_back(stream->last);
      continue;
    }
    *stream = {work.event, 0};
  }
  return enclosing;
}

std::vector<std::uint32_t> overruns(const TraceIndex& index) {
  constexpr std::int64_t kLonger = 100;
  const Trace& trace = index.trace();
  std::map<NameId, std::int64_t> medians;
  std::vector<std::uint32_t> found;
  for (const std::uint32_t event : enclosing_work(index)) {
    const NameId name = trace.events.name[event];
    const auto [median, is_new] = medians.try_emplace(name, 0);
    if (is_new) median->second = median_duration(trace, name);
    if (trace.events.duration_ns[event] / kLonger > median->second) found.push_back(event);
  }
  return found;
}

Doubt count_launches(const Trace& trace) {
  Doubt counted{DoubtKind::kLaunchesWithoutWork};
  for_each_launch_call(trace, [&](std::uint32_t call, bool has_work) {
    ++counted.of;
    if (!has_work) count_event(trace, call, counted);
  });
  return counted;
}

/// Functions that partly overlap have wrong times.
Doubt crossing_functions(const TraceIndex& index) {
  const Events& events = index.trace().events;
  Doubt crossing{DoubtKind::kCrossing};
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.category[event] != Category::kPython) continue;
    ++crossing.of;
    const std::uint32_t around = index.host().parent[event];
    if (around == kNone || events.category[around] != Category::kPython) continue;
    if (events.end_ns(event) > events.end_ns(around)) count_event(index.trace(), event, crossing);
  }
  return crossing;
}

bool is_much(const Doubt& doubt) {
  return doubt.count >= kLeastCount &&
         static_cast<double>(doubt.count) > kLeastShare * static_cast<double>(doubt.of);
}

}  // namespace

std::string doubt_text(const Doubt& doubt, const char* done) {
  const std::string example =
      quote(doubt.example.size() > kMostName ? doubt.example.substr(0, kMostName) + "..." : doubt.example);
  switch (doubt.kind) {
    case DoubtKind::kOverrun:
      return fmt::format("{} {} ({} of {}, spanning later work of its stream)",
                         counted(doubt.count, "impossible duration"), done,
                         format_time_ns(static_cast<double>(doubt.longest_ns)), example);
    case DoubtKind::kFarTime:
      return fmt::format("{} {}, with times of another clock (first: {})", counted(doubt.count, "event"),
                         done, example);
    case DoubtKind::kLaunchesWithoutWork:
      return fmt::format("{} of {} launches have no work in the file: idle time unknown (first: {})",
                         doubt.count, doubt.of, example);
    case DoubtKind::kWorkWithoutLaunches:
      return fmt::format(
          "{} of {} GPU events have no recorded launch: causes of idle time before them unknown", doubt.count,
          doubt.of);
    case DoubtKind::kNoDevice:
      return fmt::format("{} launches but no GPU work in the file", doubt.of);
    case DoubtKind::kStepsNotWhole:
      return fmt::format("{} of {} steps lack work that they launch{}", doubt.count, doubt.of,
                         doubt.count < doubt.of ? " and are left out of figures per step" : "");
    case DoubtKind::kCrossing:
      return fmt::format("{} of {} Python functions end after their caller: lines may be wrong (first: {})",
                         doubt.count, doubt.of, example);
  }
  return "";
}

ImpossibleEvents impossible_events(const TraceIndex& index) {
  const Trace& trace = index.trace();
  ImpossibleEvents found;
  const auto take = [&](DoubtKind kind, const std::vector<std::uint32_t>& rows) {
    if (rows.empty()) return;
    Doubt doubt{kind};
    doubt.of = trace.events.size();
    for (const std::uint32_t row : rows) count_event(trace, row, doubt);
    found.doubts.push_back(std::move(doubt));
    found.rows.insert(found.rows.end(), rows.begin(), rows.end());
  };
  take(DoubtKind::kOverrun, overruns(index));
  take(DoubtKind::kFarTime, far_events(trace));
  std::ranges::sort(found.rows);
  found.rows.erase(std::unique(found.rows.begin(), found.rows.end()), found.rows.end());
  return found;
}

Trace without(const Trace& trace, const ImpossibleEvents& impossible) {
  std::vector<bool> is_kept(trace.events.size(), true);
  for (const std::uint32_t row : impossible.rows) is_kept[row] = false;
  return subset(trace, is_kept);
}

std::vector<Doubt> missing_parts(const TraceIndex& index) {
  const Trace& trace = index.trace();
  std::vector<Doubt> doubts;
  if (!has_launchers(trace)) return doubts;
  const Doubt counted = count_launches(trace);
  if (trace.gpu.empty()) {
    if (counted.of > 0) doubts.push_back({DoubtKind::kNoDevice, 0, counted.of});
    return doubts;
  }
  if (is_much(counted)) doubts.push_back(counted);
  Doubt work{DoubtKind::kWorkWithoutLaunches};
  const Span window = index.window();  // earlier work may lack a launch
  for (std::size_t row = 0; row < trace.gpu.size(); ++row) {
    const std::uint32_t event = trace.gpu[row].event;
    if (trace.events.start_ns[event] < window.start || trace.events.start_ns[event] >= window.end) continue;
    ++work.of;
    if (index.launches()[row] == kNone) count_event(trace, event, work);
  }
  if (is_much(work)) doubts.push_back(work);
  const std::vector<bool>& is_whole = index.steps().is_whole;
  Doubt steps{DoubtKind::kStepsNotWhole};
  steps.of = is_whole.size();
  steps.count = static_cast<std::size_t>(std::ranges::count(is_whole, false));
  if (steps.count > 0) doubts.push_back(steps);
  if (Doubt crossing = crossing_functions(index); crossing.count > 0) doubts.push_back(std::move(crossing));
  return doubts;
}

}  // namespace headroom::trace
