// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/critical_path/host_nest.h"

#include <algorithm>
#include <limits>
#include <span>
#include <string_view>
#include <utility>

#include "headroom/trace/work/host_activity.h"

namespace headroom::trace {
namespace {

class NestWalk {
 public:
  NestWalk(const Trace& trace, const std::vector<bool>& waiting) : trace_(trace), waiting_(waiting) {}

  void begin_thread() {
    close_until(std::numeric_limits<std::int64_t>::max());
    last_top_level_ = kNone;
  }

  void add(std::uint32_t event) {
    const std::int64_t start = trace_.events.start_ns[event];
    close_until(start);
    if (open_.empty()) {
      if (last_top_level_ != kNone)
        nest_.edges.push_back({end_of(last_top_level_), start_of(event), event, PathClass::kBetweenOps, 0});
    } else {
      step_to(start_of(event), start);
    }
    nest_.nodes.push_back({start_of(event), start});
    open_.push_back(open_event(event));
  }

  HostNest finish() {
    begin_thread();
    return std::move(nest_);
  }

 private:
  struct Open {
    std::uint32_t event;
    std::int64_t end_ns;
    PathClass kind;  ///< of the time in it, and in what it encloses
  };

  Open open_event(std::uint32_t event) const {
    Open open{event, trace_.events.end_ns(event), PathClass::kCpu};
    if (!open_.empty()) {
      open.end_ns = std::min(open.end_ns, open_.back().end_ns);
      open.kind = open_.back().kind;
    }
    if (open.kind == PathClass::kCpu && is_data_loading(trace_.names[trace_.events.name[event]]))
      open.kind = PathClass::kDataLoading;
    if (waiting_[event]) open.kind = PathClass::kWaiting;
    return open;
  }

  /// An edge from the last node of this thread, for the time in the innermost open event.
  void step_to(PathNode node, std::int64_t at_ns) {
    const HostNode& last = nest_.nodes.back();
    const Open& open = open_.back();
    const bool is_weighed = open.kind < PathClass::kBetweenOps;
    nest_.edges.push_back({last.node, node, open.event, open.kind, is_weighed ? at_ns - last.at_ns : 0});
  }

  void close_until(std::int64_t at_ns) {
    while (!open_.empty() && open_.back().end_ns <= at_ns) {
      const Open open = open_.back();
      step_to(end_of(open.event), open.end_ns);
      nest_.nodes.push_back({end_of(open.event), open.end_ns});
      open_.pop_back();
      if (open_.empty()) last_top_level_ = open.event;
    }
  }

  const Trace& trace_;
  const std::vector<bool>& waiting_;
  std::vector<Open> open_;
  std::uint32_t last_top_level_ = kNone;
  HostNest nest_;
};

/// Threads that call the device and take turns work for one another: while autograd's runs the backward pass,
/// the one that called backward() waits, and nothing in the file says so. From the end of what one does last
/// to what another does next, with nothing of any of them open between, leads an edge without weight, as
/// between the operators of one thread.
void add_hand_overs(const Trace& trace, std::span<const std::uint32_t> chosen, HostNest& nest) {
  const Events& events = trace.events;
  std::vector<bool> calls_device(trace.threads.size());
  for (const std::uint32_t event : chosen) {
    const Category category = events.category[event];
    if (category == Category::kRuntime || category == Category::kDriver)
      calls_device[events.thread[event]] = true;
  }
  std::vector<std::uint32_t> outermost;  // of each thread in its order
  std::int64_t end_ns = 0;
  for (const std::uint32_t event : chosen) {
    const bool is_new_thread = outermost.empty() || events.thread[outermost.back()] != events.thread[event];
    if (!calls_device[events.thread[event]] || (!is_new_thread && events.start_ns[event] < end_ns)) continue;
    outermost.push_back(event);
    end_ns = events.end_ns(event);
  }
  std::ranges::stable_sort(outermost, {}, [&](std::uint32_t event) { return events.start_ns[event]; });
  std::uint32_t last = kNone;  // to end of those that have begun
  for (const std::uint32_t event : outermost) {
    if (last != kNone && events.thread[last] != events.thread[event] &&
        events.end_ns(last) <= events.start_ns[event])
      nest.edges.push_back({end_of(last), start_of(event), event, PathClass::kBetweenOps, 0});
    if (last == kNone || events.end_ns(event) >= events.end_ns(last)) last = event;
  }
}

}  // namespace

bool is_in_host_nest(const Trace& trace, std::uint32_t event) {
  const std::string_view name = trace.names[trace.events.name[event]];
  switch (trace.events.category[event]) {
    case Category::kRuntime:
    case Category::kDriver:
      return true;
    case Category::kCpuOp:
      return !name.starts_with(kStepName);  // operators of old files
    case Category::kUserAnnotation:
      return is_data_loading(name);
    default:
      return false;
  }
}

HostNest host_nest(const Trace& trace, Span window, const std::vector<bool>& waiting) {
  const Events& events = trace.events;
  std::vector<std::uint32_t> chosen;
  for (std::uint32_t event = 0; event < events.size(); ++event) {
    if (events.start_ns[event] >= window.start && events.start_ns[event] < window.end &&
        is_in_host_nest(trace, event)) {
      chosen.push_back(event);
    }
  }
  std::ranges::sort(chosen, [&](std::uint32_t a, std::uint32_t b) {
    if (events.thread[a] != events.thread[b]) return events.thread[a] < events.thread[b];
    if (events.start_ns[a] != events.start_ns[b]) return events.start_ns[a] < events.start_ns[b];
    if (events.duration_ns[a] != events.duration_ns[b]) return events.duration_ns[a] > events.duration_ns[b];
    return a < b;
  });
  NestWalk walk(trace, waiting);
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    if (i > 0 && events.thread[chosen[i]] != events.thread[chosen[i - 1]]) walk.begin_thread();
    walk.add(chosen[i]);
  }
  HostNest nest = walk.finish();
  add_hand_overs(trace, chosen, nest);
  return nest;
}

}  // namespace headroom::trace
