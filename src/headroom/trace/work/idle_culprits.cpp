// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/work/idle_culprits.h"

#include <algorithm>
#include <tuple>

#include "headroom/trace/columns/attribution.h"
#include "headroom/trace/columns/run_merge.h"
#include "headroom/trace/work/gpu_work.h"
#include "headroom/trace/work/idle_gaps.h"

namespace headroom::trace {
namespace {

/// The host's part of some gaps: what is asked of the threads.
struct HostTimes {
  struct Time {
    Span span;
    std::uint32_t gap;
    std::uint32_t thread;  ///< that launches what ends the gap; kNone where nobody knows
  };
  std::vector<Time> times;         ///< device by device, each by start: those of one do not overlap
  std::vector<std::size_t> first;  ///< of each device in `times`, and the end
};

/// Walks over what each thread has open, and hands out what of it lies in the times that are asked for.
class ThreadWalk {
 public:
  ThreadWalk(const Trace& trace, const HostTimes& times) : events_(trace.events), times_(times) {}

  /// `take(time, part)`: an index of times and the part of it that the event is the innermost in.
  template <typename Take>
  void walk(std::span<const std::uint32_t> of_thread, Take take) {
    open_.clear();
    next_ = times_.first;
    std::int64_t at = 0;
    const auto emit = [&](std::int64_t until) {
      if (!open_.empty() && until > at) hand_out({at, until}, open_.back().event, take);
      at = std::max(at, until);
    };
    for (const std::uint32_t event : of_thread) {
      const std::int64_t start = events_.start_ns[event];
      while (!open_.empty() && open_.back().end <= start) {
        emit(open_.back().end);
        open_.pop_back();
      }
      emit(start);
      at = open_.empty() ? start : std::max(at, start);
      // What ends after it began inside of something is beside that, not in it: profilers draw such pairs.
      const std::int64_t end = events_.end_ns(event);
      while (!open_.empty() && open_.back().end < end) open_.pop_back();
      open_.push_back({event, end});
    }
    while (!open_.empty()) {
      emit(open_.back().end);
      open_.pop_back();
    }
  }

 private:
  struct Open {
    std::uint32_t event;
    std::int64_t end;
  };

  template <typename Take>
  void hand_out(Span span, std::uint32_t event, Take take) {
    // Spans come one after the other: times that end before one are behind all that follow.
    for (std::size_t device = 0; device + 1 < times_.first.size(); ++device) {
      const std::size_t end = times_.first[device + 1];
      std::size_t& next = next_[device];
      while (next < end && times_.times[next].span.end <= span.start) ++next;
      for (std::size_t at = next; at < end && times_.times[at].span.start < span.end; ++at) {
        const Span asked = times_.times[at].span;
        take(static_cast<std::uint32_t>(at),
             Span{std::max(span.start, asked.start), std::min(span.end, asked.end)}, event);
      }
    }
  }

  const Events& events_;
  const HostTimes& times_;
  std::vector<Open> open_;
  std::vector<std::size_t> next_;  ///< of each device: the first of its times that is not over
};

class CulpritSearch {
 public:
  CulpritSearch(const Trace& trace, std::span<const std::uint32_t> launch, const HostOrder& host)
      : trace_(trace),
        events_(trace.events),
        launch_(launch),
        order_(host),
        doing_(host_doings(trace, host)) {}

  IdleCulprits search(const DeviceWork& all, const Span* window) {
    for (const GpuWork& work : work_by_device(all)) {
      times_.first.push_back(times_.times.size());
      add_gaps(work, window);
    }
    times_.first.push_back(times_.times.size());
    ask_threads();
    fill();
    return std::move(found_);
  }

 private:
  struct HostPart {
    Span span;
    std::uint32_t time;  ///< index of times_
    std::uint32_t event;
  };
  bool is_of_launcher(const HostPart& part) const {
    return times_.times[part.time].thread == events_.thread[part.event];
  }

  void add_gap(const GpuWork& work, Span time, std::uint32_t before, std::uint32_t next) {
    if (time.end <= time.start) return;
    DeviceGap gap{time, work.device, before, next, kNone, time.start};
    if (next == kNone) {
      gap.host_until_ns = time.end;
    } else if (launch_[next] != kNone) {
      gap.call = launch_[next];
      gap.host_until_ns = std::clamp(events_.start_ns[gap.call], time.start, time.end);
    }
    if (gap.host_until_ns > time.start) {
      const std::uint32_t thread = gap.call != kNone ? events_.thread[gap.call]
                                   : before != kNone && launch_[before] != kNone
                                       ? events_.thread[launch_[before]]
                                       : kNone;
      times_.times.push_back(
          {{time.start, gap.host_until_ns}, static_cast<std::uint32_t>(found_.gaps.size()), thread});
    }
    found_.gaps.push_back(gap);
  }

  void add_gaps(const GpuWork& work, const Span* window) {
    if (work.rows.empty()) return;
    const auto cut = [&](Span span) {
      return window == nullptr ? span
                               : Span{std::max(span.start, window->start), std::min(span.end, window->end)};
    };
    const auto start_of = [&](std::uint32_t row) { return events_.start_ns[trace_.gpu[row].event]; };
    if (window != nullptr)
      add_gap(work, cut({window->start, start_of(work.rows.front())}), kNone, work.rows.front());
    // Why there is a gap is found here in another way: the threshold of idle_gaps plays no part.
    for (const IdleGap& gap : idle_gaps(trace_, work.rows, launch_, 0))
      add_gap(work, cut({gap.start_ns, gap.end_ns}), gap.before, gap.next);
    if (window == nullptr) return;
    std::uint32_t last = work.rows.front();
    for (const std::uint32_t row : work.rows) {
      if (events_.end_ns(trace_.gpu[row].event) >= events_.end_ns(trace_.gpu[last].event)) last = row;
    }
    add_gap(work, cut({events_.end_ns(trace_.gpu[last].event), window->end}), last, kNone);
  }

  /// What the threads that launch work did in the times that are asked for.
  void ask_threads() {
    std::vector<bool> launches_work(trace_.threads.size());
    for (const std::uint32_t call : launch_) {
      if (call != kNone) launches_work[events_.thread[call]] = true;
    }
    const std::vector<std::uint32_t>& order = order_.events;
    ThreadWalk walk(trace_, times_);
    host_.reserve(order.size());
    for (std::size_t from = 0; from < order.size();) {
      const std::uint32_t thread = events_.thread[order[from]];
      std::size_t to = from;
      while (to < order.size() && events_.thread[order[to]] == thread) ++to;
      if (launches_work[thread]) {
        walk.walk(std::span(order).subspan(from, to - from),
                  [&](std::uint32_t time, Span span, std::uint32_t event) {
                    if (doing_[event] == HostDoing::kNotRecorded) return;
                    host_.push_back({span, time, event});
                  });
      }
      from = to;
    }
  }

  /// What the other threads did, of which at each moment one counts: the one that began first.
  std::vector<HostPart> one_after_the_other(std::span<const HostPart> parts) const {
    std::vector<HostPart> others;
    for (HostPart part : parts) {
      if (is_of_launcher(part)) continue;
      if (!others.empty()) part.span.start = std::max(part.span.start, others.back().span.end);
      if (part.span.end > part.span.start) others.push_back(part);
    }
    return others;
  }

  /// The parts of each time: the launching thread's, what others did in its holes, and nothing.
  void fill_time(std::uint32_t time, std::span<const HostPart> parts) {
    const HostTimes::Time& asked = times_.times[time];
    const auto add = [&](Span span, std::uint32_t event) {
      if (span.end <= span.start) return;
      const HostDoing doing = event == kNone ? HostDoing::kNotRecorded : doing_[event];
      found_.parts.push_back({span, doing, event, asked.gap});
    };
    const std::vector<HostPart> others = one_after_the_other(parts);
    std::size_t next = 0;
    const auto fill_hole = [&](Span hole) {
      while (next < others.size() && others[next].span.end <= hole.start) ++next;
      for (std::size_t i = next; i < others.size() && others[i].span.start < hole.end; ++i) {
        add({hole.start, others[i].span.start}, kNone);
        add({std::max(others[i].span.start, hole.start), std::min(others[i].span.end, hole.end)},
            others[i].event);
        hole.start = std::min(others[i].span.end, hole.end);
      }
      add(hole, kNone);
    };
    std::int64_t at = asked.span.start;
    for (const HostPart& part : parts) {
      if (!is_of_launcher(part)) continue;
      fill_hole({at, part.span.start});
      add({std::max(at, part.span.start), part.span.end}, part.event);
      at = std::max(at, part.span.end);
    }
    fill_hole({at, asked.span.end});
  }

  void fill() {
    const auto is_before = [](const HostPart& a, const HostPart& b) {
      return std::tie(a.time, a.span.start, a.span.end, a.event) <
             std::tie(b.time, b.span.start, b.span.end, b.event);
    };
    merge_runs(std::span(host_), is_before);
    found_.parts.reserve(host_.size() + 2 * found_.gaps.size());
    std::size_t from = 0;
    std::uint32_t time = 0;
    for (std::uint32_t i = 0; i < found_.gaps.size(); ++i) {
      const DeviceGap& gap = found_.gaps[i];
      // Times were asked for in the order of the gaps, of some of them.
      if (time < times_.times.size() && times_.times[time].gap == i) {
        std::size_t to = from;
        while (to < host_.size() && host_[to].time == time) ++to;
        fill_time(time++, std::span(host_).subspan(from, to - from));
        from = to;
      }
      if (gap.host_until_ns >= gap.time.end) continue;
      const bool is_launch = gap.host_until_ns > gap.time.start;
      found_.parts.push_back({{gap.host_until_ns, gap.time.end},
                              is_launch ? HostDoing::kLaunch : HostDoing::kNotTheHost,
                              is_launch ? gap.call : kNone,
                              i});
    }
  }

  const Trace& trace_;
  const Events& events_;
  std::span<const std::uint32_t> launch_;
  const HostOrder& order_;
  std::vector<HostDoing> doing_;
  HostTimes times_;
  std::vector<HostPart> host_;
  IdleCulprits found_;
};

}  // namespace

IdleCulprits idle_culprits(const Trace& trace, const DeviceWork& work, std::span<const std::uint32_t> launch,
                           const HostOrder& host, const Span* window) {
  return CulpritSearch(trace, launch, host).search(work, window);
}

}  // namespace headroom::trace
