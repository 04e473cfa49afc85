// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/host_activity.h"

#include <string_view>
#include <vector>

namespace headroom::trace {

namespace {

template <typename Wanted>
Spans times_where(const Trace& trace, Wanted wanted) {
  const Events& events = trace.events;
  std::vector<Span> spans;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (wanted(i)) spans.push_back({events.start_ns[i], events.end_ns(i)});
  }
  return merged(std::move(spans));
}

/// What a program says of itself. Old files draw their annotations as operators.
bool can_be_annotation(Category category) {
  return category == Category::kUserAnnotation || category == Category::kCpuOp;
}

constexpr std::string_view kDataLoading = "enumerate(DataLoader)", kStep = "ProfilerStep#";

}  // namespace

Spans data_loading(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    return can_be_annotation(trace.events.category[i]) &&
           trace.names[trace.events.name[i]].starts_with(kDataLoading);
  });
}

Spans host_communication(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    if (!can_be_annotation(trace.events.category[i])) return false;
    const std::string_view name = trace.names[trace.events.name[i]];
    return name.starts_with("gloo:") || name.starts_with("mpi:");
  });
}

Spans operators(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    if (trace.events.category[i] != Category::kCpuOp) return false;
    const std::string_view name = trace.names[trace.events.name[i]];
    return !name.starts_with(kStep) && !name.starts_with(kDataLoading);
  });
}

Spans times_of(const Trace& trace, Category category) {
  return times_where(trace, [&](std::size_t i) { return trace.events.category[i] == category; });
}

}  // namespace headroom::trace
