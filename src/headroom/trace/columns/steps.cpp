// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/steps.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace headroom::trace {

std::vector<Step> steps(const Trace& trace) {
  const Events& events = trace.events;
  std::vector<Step> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    // Old files draw the steps as operators; the GPU's copy of the annotation is not the step.
    if (events.category[i] != Category::kUserAnnotation && events.category[i] != Category::kCpuOp) continue;
    const std::string_view name = trace.names[events.name[i]];
    if (!name.starts_with(kStepName)) continue;
    Step step{-1, std::string(name), events.start_ns[i], events.end_ns(i)};
    std::from_chars(name.data() + kStepName.size(), name.data() + name.size(), step.number);
    found.push_back(std::move(step));
  }
  std::ranges::sort(found, {}, &Step::start_ns);
  return found;
}

std::string step_text(const Step& step) {
  return step.number >= 0 ? std::to_string(step.number) : step.name;
}

namespace {

template <typename Wanted>
Extent extent_of(const Events& events, Wanted wanted) {
  Extent extent{std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min()};
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!wanted(i)) continue;
    extent.start_ns = std::min(extent.start_ns, events.start_ns[i]);
    extent.end_ns = std::max(extent.end_ns, events.end_ns(i));
  }
  return extent.start_ns > extent.end_ns ? Extent{} : extent;
}

}  // namespace

Extent gpu_extent(const Trace& trace) {
  return extent_of(trace.events, [&](std::size_t i) { return is_gpu_work(trace.events.category[i]); });
}

Extent whole_extent(const Trace& trace) {
  return extent_of(trace.events, [](std::size_t) { return true; });
}

}  // namespace headroom::trace
