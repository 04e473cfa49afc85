// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/index/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "headroom/base/text.h"
#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/work/idle_culprits.h"

namespace headroom::trace {
namespace {

constexpr std::string_view kExecute = "execute_";

std::int64_t number_in(std::string_view digits) {
  std::int64_t number = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

std::vector<Step> marked_steps(const Trace& trace, std::string_view prefix) {
  const Events& events = trace.events;
  std::vector<bool> is_step(trace.names.size());
  for (NameId name = 0; name < is_step.size(); ++name) is_step[name] = trace.names[name].starts_with(prefix);
  if (std::ranges::find(is_step, true) == is_step.end()) return {};
  std::map<std::uint32_t, std::vector<Step>> by_thread;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is_step[events.name[i]]) continue;
    // Old files mark steps as operators.
    if (events.category[i] != Category::kUserAnnotation && events.category[i] != Category::kCpuOp) continue;
    const std::string_view name = trace.names[events.name[i]];
    by_thread[events.thread[i]].push_back(
        {number_in(name.substr(prefix.size())), std::string(name), events.start_ns[i], events.end_ns(i)});
  }
  std::vector<Step> most;
  for (auto& [thread, steps] : by_thread) {
    if (steps.size() > most.size()) most = std::move(steps);
  }
  std::ranges::sort(most, {}, &Step::start_ns);
  return most;
}

/// "iteration #" for "iteration 12".
std::string without_digits(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (!is_digit(c)) {
      text += c;
    } else if (text.empty() || text.back() != '#') {
      text += '#';
    }
  }
  return text;
}

struct Candidate {
  StepSource source;
  std::string name;
};

/// Nothing for annotations of libraries.
std::optional<Candidate> candidate_of(std::string_view name, Writer writer) {
  for (const std::string_view prefix : {"nccl:", "gloo:", "mpi:", "Optimizer."}) {
    if (name.starts_with(prefix)) return std::nullopt;
  }
  if (name.empty() || is_data_loading(name)) return std::nullopt;
  if (writer == Writer::kNsight || writer == Writer::kRocprof)
    return Candidate{StepSource::kNvtx, without_digits(name)};
  if (name.starts_with(kExecute)) return Candidate{StepSource::kExecute, std::string(kExecute) + "..."};
  return Candidate{StepSource::kAnnotation, without_digits(name)};
}

using AnnotationKey = std::tuple<StepSource, std::string, std::uint32_t>;

std::map<AnnotationKey, std::vector<std::uint32_t>> annotation_groups(const Trace& trace) {
  const Events& events = trace.events;
  std::vector<bool> is_known(trace.names.size());
  std::map<NameId, Candidate> candidates;
  std::map<AnnotationKey, std::vector<std::uint32_t>> groups;
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.category[i] != Category::kUserAnnotation) continue;
    const NameId name = events.name[i];
    if (!is_known[name]) {
      is_known[name] = true;
      if (auto candidate = candidate_of(trace.names[name], trace.writer))
        candidates.emplace(name, std::move(*candidate));
    }
    const auto found = candidates.find(name);
    if (found != candidates.end())
      groups[{found->second.source, found->second.name, events.thread[i]}].push_back(i);
  }
  return groups;
}

/// 0 if any two overlap.
std::int64_t covered_ns(const Trace& trace, const std::vector<std::uint32_t>& by_start, Span span) {
  std::int64_t covered = 0, end = std::numeric_limits<std::int64_t>::min();
  for (const std::uint32_t event : by_start) {
    const std::int64_t start = trace.events.start_ns[event];
    if (start < end) return 0;
    end = trace.events.end_ns(event);
    covered += std::max<std::int64_t>(0, std::min(end, span.end) - std::max(start, span.start));
  }
  return covered;
}

/// Numbers by the trailing digits of distinct names, else by index.
void number_steps(std::vector<Step>& steps) {
  std::set<std::int64_t> numbers;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::string& name = steps[i].name;
    std::size_t at = name.size();
    while (at > 0 && is_digit(name[at - 1])) --at;
    steps[i].number = number_in(std::string_view(name).substr(at));
    if (steps[i].number >= 0) numbers.insert(steps[i].number);
  }
  if (numbers.size() == steps.size()) return;
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].number = static_cast<std::int64_t>(i);
}

StepSet repeated_annotations(const Trace& trace) {
  constexpr std::size_t kLeast = 3;
  constexpr double kLeastCovered = 0.8;
  StepSet set;
  const Extent extent = gpu_extent(trace);
  if (extent.length_ns() <= 0) return set;
  const double least = kLeastCovered * static_cast<double>(extent.length_ns());
  std::int64_t most = 0;
  std::vector<std::uint32_t> chosen;
  for (auto& [group, events] : annotation_groups(trace)) {
    const auto& [source, name, thread] = group;
    if (events.size() < kLeast || (set.source != StepSource::kNoSteps && source != set.source)) continue;
    std::ranges::sort(events, {}, [&](std::uint32_t event) { return trace.events.start_ns[event]; });
    const std::int64_t covered = covered_ns(trace, events, {extent.start_ns, extent.end_ns});
    if (covered <= most || static_cast<double>(covered) <= least) continue;
    most = covered;
    set.source = source;
    set.name = name;
    chosen = events;
  }
  for (const std::uint32_t event : chosen) {
    set.steps.push_back(
        {-1, std::string(trace.event_name(event)), trace.events.start_ns[event], trace.events.end_ns(event)});
  }
  number_steps(set.steps);
  return set;
}

StepSet found_steps(const Trace& trace) {
  if (auto steps = marked_steps(trace, kStepName); !steps.empty())
    return {StepSource::kProfilerStep, std::string(kStepName), std::move(steps), {}};
  if (auto steps = marked_steps(trace, kStepNumName); !steps.empty())
    return {StepSource::kStepNum, std::string(kStepNumName), std::move(steps), {}};
  return repeated_annotations(trace);
}

std::int64_t last_end(std::span<const Step> steps) {
  std::int64_t end = steps.front().end_ns;
  for (const Step& step : steps) end = std::max(end, step.end_ns);
  return end;
}

void count_works(const Trace& trace, StepSet& set) {
  const std::int64_t first = set.steps.front().start_ns, last = last_end(set.steps);
  std::map<std::int32_t, double> by_device;
  std::optional<std::int32_t> recent;  // neighbours mostly share a device
  double* inside_ns = nullptr;
  for (const GpuDetail& work : trace.gpu) {
    const std::int64_t start = trace.events.start_ns[work.event];
    if (start < first) continue;
    ++set.works;
    if (start >= last) continue;
    ++set.works_inside;
    if (recent != work.device) inside_ns = &by_device[work.device];
    recent = work.device;
    *inside_ns += static_cast<double>(std::min(trace.events.end_ns(work.event), last) - start);
  }
  for (const auto& [device, time_ns] : by_device)
    set.share_inside = std::max(set.share_inside, time_ns / static_cast<double>(last - first));
}

}  // namespace

const char* to_string(StepSource source) {
  constexpr const char* kNames[] = {"none",       "ProfilerStep",        "step_num",
                                    "NVTX range", "execute_ annotation", "annotation"};
  return kNames[static_cast<std::size_t>(source)];
}

StepSet step_set(const Trace& trace) {
  StepSet set = found_steps(trace);
  set.is_whole.assign(set.steps.size(), true);
  if (!set.steps.empty()) count_works(trace, set);
  return set;
}

std::span<const Step> StepSet::measured() const {
  std::span<const Step> longest;
  for (std::size_t from = 0, end = 0; from < is_whole.size(); from = end + 1) {
    for (end = from; end < is_whole.size() && is_whole[end];) ++end;
    if (end - from > longest.size()) longest = std::span(steps).subspan(from, end - from);
  }
  return longest.empty() ? std::span(steps) : longest;
}

void find_whole_steps(const Trace& trace, StepSet& set) {
  constexpr double kLeastWithWork = 0.95;
  const Events& events = trace.events;
  if (set.steps.empty() || !has_launchers(trace)) return;
  struct Calls {
    std::size_t all = 0, with_work = 0;
  };
  std::vector<Calls> by_step(set.steps.size());
  for_each_launch_call(trace, [&](std::uint32_t call, bool has_work) {
    const std::int64_t start_ns = events.start_ns[call];
    const auto after = std::ranges::upper_bound(set.steps, start_ns, {}, &Step::start_ns);
    if (after == set.steps.begin() || start_ns >= std::prev(after)->end_ns) return;
    Calls& calls = by_step[static_cast<std::size_t>(std::prev(after) - set.steps.begin())];
    ++calls.all;
    if (has_work) ++calls.with_work;
  });
  for (std::size_t i = 0; i < by_step.size(); ++i) {
    set.is_whole[i] =
        static_cast<double>(by_step[i].with_work) >= kLeastWithWork * static_cast<double>(by_step[i].all);
  }
}

std::string step_note(const StepSet& set) {
  if (set.source == StepSource::kNoSteps || set.source == StepSource::kProfilerStep) return "";
  return fmt::format("the steps are the {} {}s {}", set.steps.size(), to_string(set.source), quote(set.name));
}

std::string device_behind_note(const StepSet& set) {
  if (!set.is_device_behind()) return "";
  return fmt::format("{} of {} GPU events start after the last step: GPU busy time per step is unknown",
                     set.works - set.works_inside, set.works);
}

}  // namespace headroom::trace
