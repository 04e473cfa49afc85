// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/host_activity.h"

#include <string_view>
#include <vector>

#include "headroom/base/text.h"

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

}  // namespace

bool is_data_loading(std::string_view annotation) {
  return contains(annotation, "DataLoader") || contains(annotation, "DataPipe") ||
         contains(annotation, "dataloader_next") || annotation.starts_with("IteratorGetNext");
}

Spans data_loading(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    return can_be_annotation(trace.events.category[i]) && is_data_loading(trace.names[trace.events.name[i]]);
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
    return !name.starts_with(kStepName) && !is_data_loading(name);
  });
}

Spans times_of(const Trace& trace, Category category) {
  return times_where(trace, [&](std::size_t i) { return trace.events.category[i] == category; });
}

}  // namespace headroom::trace
