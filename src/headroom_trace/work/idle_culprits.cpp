// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/idle_culprits.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "headroom/base/text.h"
#include "headroom_trace/columns/trace_facts.h"
#include "headroom_trace/work/stream_order.h"

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

/// Old files write annotations as operators.
bool can_be_annotation(Category category) {
  return category == Category::kUserAnnotation || category == Category::kCpuOp;
}

bool is_compilation(std::string_view name) {
  constexpr std::array<std::string_view, 6> kParts{"dynamo_timed",  "compile_inner",    "compile_fx",
                                                   "compile_to_fn", "compile_and_call", "_compile_to_module"};
  return std::ranges::any_of(kParts, [&](std::string_view part) { return contains(name, part); });
}

bool is_collector(std::string_view name) {
  return contains(name, "gc.collect") || contains(name, "gc.py") || contains(name, "function collect>") ||
         contains(name, "method collect>") || name == "Python GC" || contains(name, "garbage_collect");
}

/// Nothing if the event is part of an enclosing one.
std::optional<HostActivity> named_activity(std::string_view name, Category category) {
  const bool is_call = category == Category::kRuntime || category == Category::kDriver;
  if (is_call && is_allocation_call(name)) return HostActivity::kAllocation;
  if (is_call && is_blocking_call(name)) return HostActivity::kSynchronisation;
  if (is_call) return HostActivity::kLaunch;
  if (is_data_loading(name)) return HostActivity::kDataLoading;
  if (is_compilation(name)) return HostActivity::kCompilation;
  if (category != Category::kCpuOp && is_collector(name)) return HostActivity::kCollector;
  return std::nullopt;
}

HostActivity category_activity(Category category) {
  return category == Category::kCpuOp ? HostActivity::kOperator : HostActivity::kProgram;
}

class HostSearch {
 public:
  HostSearch(const Trace& trace, std::span<const std::uint32_t> launch, const HostOrder& host,
             std::span<const HostActivity> doing, const HostTimes& times)
      : trace_(trace), events_(trace.events), launch_(launch), order_(host), doing_(doing), times_(times) {}

  std::vector<HostPart> parts() {
    collect_threads();
    const auto is_before = [](const HostPart& a, const HostPart& b) {
      return std::tie(a.time, a.span.start, a.span.end, a.event) <
             std::tie(b.time, b.span.start, b.span.end, b.event);
    };
    merge_runs(std::span(host_), is_before);
    std::size_t from = 0;
    for (std::uint32_t time = 0; time < times_.times.size(); ++time) {
      std::size_t to = from;
      while (to < host_.size() && host_[to].time == time) ++to;
      fill_time(time, std::span(host_).subspan(from, to - from));
      from = to;
    }
    return std::move(found_);
  }

 private:
  bool is_on_launching_thread(const HostPart& part) const {
    return times_.times[part.time].thread == events_.thread[part.event];
  }

  void collect_threads() {
    std::vector<bool> launches_work(trace_.threads.size());
    for (const std::uint32_t call : launch_) {
      if (call != kNone) launches_work[events_.thread[call]] = true;
    }
    if (std::ranges::find(launches_work, true) == launches_work.end()) launches_work.flip();
    std::vector<std::size_t> next;
    std::uint32_t thread = kNone;
    host_.reserve(order_.events.size());
    for_each_innermost(trace_, order_, [&](Span span, std::uint32_t event) {
      if (!launches_work[events_.thread[event]]) return;
      if (std::exchange(thread, events_.thread[event]) != events_.thread[event]) next = times_.first;
      if (doing_[event] != HostActivity::kNotRecorded) distribute(span, event, next);
    });
  }

  void distribute(Span span, std::uint32_t event, std::vector<std::size_t>& next_of_device) {
    for (std::size_t device = 0; device + 1 < times_.first.size(); ++device) {
      const std::size_t end = times_.first[device + 1];
      std::size_t& next = next_of_device[device];
      while (next < end && times_.times[next].span.end <= span.start) ++next;
      for (std::size_t at = next; at < end && times_.times[at].span.start < span.end; ++at) {
        const Span asked = times_.times[at].span;
        host_.push_back({{std::max(span.start, asked.start), std::min(span.end, asked.end)},
                         static_cast<std::uint32_t>(at),
                         event});
      }
    }
  }

  /// Parts of other threads; where they overlap, the one that began first counts.
  std::vector<HostPart> without_overlap(std::span<const HostPart> parts) const {
    std::vector<HostPart> others;
    for (HostPart part : parts) {
      if (is_on_launching_thread(part)) continue;
      if (!others.empty()) part.span.start = std::max(part.span.start, others.back().span.end);
      if (part.span.end > part.span.start) others.push_back(part);
    }
    return others;
  }

  /// The launching thread's parts, then those of other threads, then unrecorded time.
  void fill_time(std::uint32_t time, std::span<const HostPart> parts) {
    const HostTimes::Time& asked = times_.times[time];
    const auto add = [&](Span span, std::uint32_t event) {
      if (span.end > span.start) found_.push_back({span, time, event});
    };
    const std::vector<HostPart> others = without_overlap(parts);
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
      if (!is_on_launching_thread(part)) continue;
      fill_hole({at, part.span.start});
      add({std::max(at, part.span.start), part.span.end}, part.event);
      at = std::max(at, part.span.end);
    }
    fill_hole({at, asked.span.end});
  }

  const Trace& trace_;
  const Events& events_;
  std::span<const std::uint32_t> launch_;
  const HostOrder& order_;
  std::span<const HostActivity> doing_;
  const HostTimes& times_;
  std::vector<HostPart> host_, found_;
};

class CulpritSearch {
 public:
  CulpritSearch(const Trace& trace, std::span<const std::uint32_t> launch, const HostOrder& host)
      : trace_(trace),
        events_(trace.events),
        launch_(launch),
        has_launches_(std::ranges::any_of(launch, [](std::uint32_t call) { return call != kNone; })),
        order_(host),
        doing_(host_activities(trace, host)) {}

  IdleCulprits search(const DeviceWork& all, std::span<const Span> windows) {
    const std::size_t most = all.items.size() + windows.size();
    found_.gaps.reserve(most);
    times_.times.reserve(most);
    for (const GpuWork& work : work_by_device(all)) {
      const std::size_t device = times_.first.size();
      times_.first.push_back(times_.times.size());
      add_gaps(work, windows.empty() ? nullptr : &windows[device]);
    }
    times_.first.push_back(times_.times.size());
    find_late_devices(times_.first.size() == 2);
    fill();
    return std::move(found_);
  }

 private:
  void add_gap(const GpuWork& work, Span time, std::uint32_t before, std::uint32_t next) {
    if (time.end <= time.start) return;
    DeviceGap gap{time, work.device, before, next, kNone, time.start, time.start, time.end};
    if (next == kNone) {
      if (has_launches_) gap.host_until_ns = gap.call_until_ns = time.end;
    } else if (launch_[next] != kNone) {
      gap.call = launch_[next];
      gap.host_until_ns = std::clamp(events_.start_ns[gap.call], time.start, time.end);
      gap.call_until_ns = std::clamp(events_.end_ns(gap.call), time.start, time.end);
    }
    if (gap.host_until_ns > time.start) {
      const std::uint32_t thread = gap.call != kNone ? events_.thread[gap.call]
                                   : before != kNone && launch_[before] != kNone
                                       ? events_.thread[launch_[before]]
                                       : kNone;
      times_.times.push_back({{time.start, gap.host_until_ns}, thread});
      gap_of_time_.push_back(static_cast<std::uint32_t>(found_.gaps.size()));
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
    for (const IdleGap& gap : idle_gaps(trace_, work.rows))
      add_gap(work, cut({gap.start_ns, gap.end_ns}), gap.before, gap.next);
    if (window == nullptr) return;
    std::uint32_t last = work.rows.front();
    for (const std::uint32_t row : work.rows) {
      if (events_.end_ns(trace_.gpu[row].event) >= events_.end_ns(trace_.gpu[last].event)) last = row;
    }
    add_gap(work, cut({events_.end_ns(trace_.gpu[last].event), window->end}), last, kNone);
  }

  /// Work that started unusually late. Other devices, or work missing from the file, may have delayed it.
  void find_late_devices(bool is_only_device) {
    constexpr std::int64_t kLateNs = 100'000, kMostUsualNs = 200'000, kOtherwiseNs = 6'000;
    std::vector<std::int64_t> delays;
    for (const DeviceGap& gap : found_.gaps) {
      const std::int64_t delay = gap.time.end - gap.call_until_ns;
      const bool is_usual_case =
          gap.call != kNone && gap.before != kNone && gap.call_until_ns > gap.time.start;
      if (is_usual_case && delay > 0 && delay < kMostUsualNs) delays.push_back(delay);
    }
    std::int64_t usual = kOtherwiseNs;
    if (!delays.empty()) {
      const auto quarter = delays.begin() + (std::ssize(delays) - 1) / 4;
      std::ranges::nth_element(delays, quarter);
      usual = *quarter;
    }
    for (DeviceGap& gap : found_.gaps) {
      const bool is_launched_in_gap = gap.call_until_ns > gap.time.start;
      if (gap.call == kNone || !(is_launched_in_gap || is_only_device) ||
          gap.time.end - gap.call_until_ns < usual + kLateNs)
        continue;
      gap.late_from_ns = gap.call_until_ns + usual;
      gap.is_work_lost = has_lost_work(gap);
    }
  }

  bool has_lost_work(const DeviceGap& gap) {
    if (gap.before == kNone) return true;
    if (!has_lost_) find_lost();
    const std::uint32_t before = launch_[gap.before];
    const std::int64_t from = before == kNone ? gap.time.start : events_.start_ns[before];
    const auto next = std::ranges::lower_bound(lost_, from);
    return next != lost_.end() && *next < events_.start_ns[gap.call];
  }

  void find_lost() {
    has_lost_ = true;
    std::vector<bool> has_work(events_.size());
    for (const std::uint32_t call : launch_) {
      if (call != kNone) has_work[call] = true;
    }
    NamePredicate is_launch(trace_, [](std::string_view name) {
      return contains(name, "LaunchKernel") || contains(name, "GraphLaunch");
    });
    for (const std::uint32_t event : order_.events) {
      const Category category = events_.category[event];
      if (has_work[event] || (category != Category::kRuntime && category != Category::kDriver)) continue;
      if (is_launch(events_.name[event])) lost_.push_back(events_.start_ns[event]);
    }
    std::ranges::sort(lost_);
  }

  void fill() {
    const std::vector<HostPart> host = host_parts(trace_, launch_, order_, doing_, times_);
    found_.parts.reserve(host.size() + 2 * found_.gaps.size());
    auto part = host.begin();
    for (std::uint32_t i = 0; i < found_.gaps.size(); ++i) {
      for (; part != host.end() && gap_of_time_[part->time] == i; ++part) {
        const HostActivity doing = part->event == kNone ? HostActivity::kNotRecorded : doing_[part->event];
        found_.parts.push_back({part->span, doing, part->event, i});
      }
      fill_device_part(i);
    }
  }

  void fill_device_part(std::uint32_t index) {
    const DeviceGap& gap = found_.gaps[index];
    const auto add = [&](Span span, HostActivity doing, std::uint32_t event) {
      if (span.end > span.start) found_.parts.push_back({span, doing, event, index});
    };
    const Span rest{gap.host_until_ns, gap.time.end};
    if (gap.call == kNone) {
      add(rest, HostActivity::kNotRecorded, kNone);
    } else if (gap.call_until_ns <= gap.time.start) {
      add(rest, gap.is_work_lost ? HostActivity::kNotRecorded : HostActivity::kNotTheHost, kNone);
    } else {
      add({rest.start, gap.late_from_ns}, HostActivity::kLaunch, gap.call);
      const Span late{gap.late_from_ns, rest.end};
      if (gap.is_work_lost) {
        add(late, HostActivity::kNotRecorded, kNone);
      } else {
        add(late, HostActivity::kDeviceLate, gap.call);
      }
    }
  }

  const Trace& trace_;
  const Events& events_;
  std::span<const std::uint32_t> launch_;
  bool has_launches_;
  const HostOrder& order_;
  std::vector<HostActivity> doing_;
  HostTimes times_;
  std::vector<std::uint32_t> gap_of_time_;  ///< by index in times_
  bool has_lost_ = false;
  std::vector<std::int64_t> lost_;
  IdleCulprits found_;
};

}  // namespace

bool is_data_loading(std::string_view annotation) {
  return contains(annotation, "DataLoader") || contains(annotation, "DataPipe") ||
         contains(annotation, "dataloader_next") || annotation.starts_with("IteratorGetNext");
}

Spans data_loading(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    return can_be_annotation(trace.events.category[i]) && is_data_loading(trace.event_name(i));
  });
}

Spans host_communication(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    if (!can_be_annotation(trace.events.category[i])) return false;
    const std::string_view name = trace.event_name(i);
    return name.starts_with("gloo:") || name.starts_with("mpi:");
  });
}

Spans operators(const Trace& trace) {
  return times_where(trace, [&](std::size_t i) {
    if (trace.events.category[i] != Category::kCpuOp) return false;
    const std::string_view name = trace.event_name(i);
    return !is_step_name(name) && !is_data_loading(name);
  });
}

Spans times_of(const Trace& trace, Category category) {
  return times_where(trace, [&](std::size_t i) { return trace.events.category[i] == category; });
}

const char* to_string(HostActivity doing) {
  constexpr const char* kNames[kHostActivities] = {
      "data loading", "allocation", "compilation",  "garbage collector", "synchronisation", "launch",
      "operators",    "program",    "not recorded", "not the host",      "device late"};
  return kNames[static_cast<std::size_t>(doing)];
}

bool is_allocation_call(std::string_view name) {
  constexpr std::array<std::string_view, 14> kStarts{
      "cudaMalloc",  "cudaFree",      "cudaHostAlloc", "cudaHostRegister", "hipMalloc",
      "hipFree",     "hipHostMalloc", "hipHostFree",   "cuMemAlloc",       "cuMemFree",
      "cuMemCreate", "cuMemMap",      "cuMemUnmap",    "cuMemSetAccess"};
  return !contains(name, "Async") &&
         std::ranges::any_of(kStarts, [&](std::string_view start) { return name.starts_with(start); });
}

std::vector<HostActivity> host_activities(const Trace& trace, const HostOrder& host) {
  const Events& events = trace.events;
  std::vector<HostActivity> doing(events.size(), HostActivity::kNotRecorded);
  constexpr std::size_t kCategories = static_cast<std::size_t>(Category::kOther) + 1;
  constexpr std::uint8_t kNew = 0xff, kNothing = 0xfe, kIsStep = 0xfd;
  std::vector<std::uint8_t> known(trace.names.size() * kCategories, kNew);
  for (const std::uint32_t event : host.events) {
    const Category category = events.category[event];
    std::uint8_t& cached = known[events.name[event] * kCategories + static_cast<std::size_t>(category)];
    if (cached == kNew) {
      const std::string_view name = trace.names[events.name[event]];
      const std::optional<HostActivity> own = named_activity(name, category);
      cached = is_step_name(name) ? kIsStep : own ? static_cast<std::uint8_t>(*own) : kNothing;
    }
    if (cached == kIsStep) continue;
    const std::uint32_t parent = host.parent[event];
    const HostActivity around = parent == kNone ? HostActivity::kNotRecorded : doing[parent];
    const bool is_inherited = around == HostActivity::kDataLoading || around == HostActivity::kCompilation ||
                              around == HostActivity::kCollector || around == HostActivity::kAllocation;
    doing[event] = is_inherited         ? around
                   : cached == kNothing ? category_activity(category)
                                        : static_cast<HostActivity>(cached);
  }
  return doing;
}

std::vector<HostPart> host_parts(const Trace& trace, std::span<const std::uint32_t> launch,
                                 const HostOrder& host, std::span<const HostActivity> doing,
                                 const HostTimes& times) {
  return HostSearch(trace, launch, host, doing, times).parts();
}

std::uint32_t site_of(const Trace& trace, const std::vector<std::uint32_t>& parent, std::uint32_t event) {
  std::uint32_t op = kNone, program = kNone;
  for (std::uint32_t at = event; at != kNone; at = parent[at]) {
    const Category category = trace.events.category[at];
    if (!is_mostly_in(trace.events, event, at) || is_step_name(trace.event_name(at))) continue;
    if (category == Category::kCpuOp) op = at;
    if (program == kNone && (category == Category::kPython || category == Category::kUserAnnotation))
      program = at;
  }
  return op != kNone ? op : program;
}

std::vector<IdleGap> idle_gaps(const Trace& trace, std::span<const std::uint32_t> rows) {
  const Events& events = trace.events;
  std::vector<IdleGap> gaps;
  if (rows.empty()) return gaps;
  gaps.reserve(rows.size());
  std::uint32_t latest = rows.front();
  for (const std::uint32_t row : rows.subspan(1)) {
    const std::int64_t busy_until = events.end_ns(trace.gpu[latest].event);
    const std::int64_t start = events.start_ns[trace.gpu[row].event];
    if (start > busy_until) gaps.push_back({busy_until, start, latest, row});
    if (events.end_ns(trace.gpu[row].event) >= busy_until) latest = row;
  }
  return gaps;
}

IdleCulprits idle_culprits(const Trace& trace, const DeviceWork& work, std::span<const std::uint32_t> launch,
                           const HostOrder& host, std::span<const Span> windows) {
  return CulpritSearch(trace, launch, host).search(work, windows);
}

}  // namespace headroom::trace
