// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/critical_path/critical_path.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "headroom_trace/columns/host_order.h"
#include "headroom_trace/critical_path/replay.h"

namespace headroom::trace {
namespace {

using Link = Replay::Link;

class PathSearch {
 public:
  PathSearch(const TraceIndex& index, Span window)
      : index_(index),
        trace_(index.trace()),
        chain_(Replay(index, window).chain()),
        activities_(host_activities(trace_, index.host())) {}

  std::vector<PathLink> links() {
    find_late_devices();
    const HostTimes times = host_times();
    const std::vector<HostPart> host =
        host_parts(trace_, index_.launches(), index_.host(), activities_, times);
    auto part = host.begin();
    std::uint32_t time = 0;
    for (const Link& link : chain_) {
      if (link.kind != Link::Kind::kHost) {
        add_device_link(link);
        continue;
      }
      for (; part != host.end() && part->time == time; ++part)
        add(part->span, part->event == kNone ? HostActivity::kNotRecorded : activities_[part->event],
            part->event);
      ++time;
    }
    return std::move(links_);
  }

 private:
  std::uint32_t launch_of(std::uint32_t row) const { return index_.launches()[row]; }

  void add(Span time, PathClass kind, std::uint32_t event) {
    if (time.end <= time.start) return;
    if (!links_.empty() && links_.back().kind == kind && links_.back().event == event) {
      links_.back().time.end = time.end;
    } else {
      links_.push_back({time, kind, event});
    }
  }
  void add(Span time, HostActivity doing, std::uint32_t event) { add(time, path_class(doing), event); }

  void add_device_link(const Link& link) {
    const std::uint32_t launch = launch_of(link.row), work = trace_.gpu[link.row].event;
    switch (link.kind) {
      case Link::Kind::kWork:
        add(link.time, path_class(index_.types()[link.row]), work);
        break;
      case Link::Kind::kReturn:
        add(link.time, HostActivity::kSynchronisation, link.call);
        break;
      case Link::Kind::kGap:
        add(link.time, launch == kNone ? HostActivity::kNotRecorded : HostActivity::kNotTheHost, work);
        break;
      case Link::Kind::kLaunch: {
        if (launch == kNone) {
          add(link.time, HostActivity::kNotRecorded, work);
          break;
        }
        const std::int64_t late = std::clamp(late_from_ns_[link.row], link.time.start, link.time.end);
        add({link.time.start, late}, HostActivity::kLaunch, launch);
        add({late, link.time.end},
            is_work_lost_[link.row] ? HostActivity::kNotRecorded : HostActivity::kDeviceLate, work);
        break;
      }
      case Link::Kind::kBlocked:
        add(link.time, HostActivity::kLaunch, launch);
        break;
      case Link::Kind::kHost:
        break;
    }
  }

  void find_late_devices() {
    late_from_ns_.assign(trace_.gpu.size(), std::numeric_limits<std::int64_t>::max());
    is_work_lost_.assign(trace_.gpu.size(), false);
    for (const DeviceGap& gap : index_.idle().gaps) {
      if (gap.next == kNone || gap.late_from_ns >= gap.time.end) continue;
      late_from_ns_[gap.next] = gap.late_from_ns;
      is_work_lost_[gap.next] = gap.is_work_lost;
    }
  }

  HostTimes host_times() const {
    HostTimes times;
    std::optional<std::uint32_t> busiest;
    for (const Link& link : chain_) {
      if (link.kind != Link::Kind::kHost) continue;
      const std::uint32_t launch = link.row == kNone ? kNone : launch_of(link.row);
      if (launch == kNone && !busiest) busiest = busiest_thread();
      times.times.push_back({link.time, launch == kNone ? *busiest : trace_.events.thread[launch]});
    }
    times.first = {0, times.times.size()};
    return times;
  }

  std::uint32_t busiest_thread() const {
    const Span path{chain_.front().time.start, chain_.back().time.end};
    std::vector<std::int64_t> busy(trace_.threads.size());
    for_each_innermost(trace_, index_.host(), [&](Span span, std::uint32_t event) {
      if (activities_[event] != HostActivity::kNotRecorded)
        busy[trace_.events.thread[event]] +=
            std::max<std::int64_t>(0, std::min(span.end, path.end) - std::max(span.start, path.start));
    });
    return busy.empty() ? kNone : static_cast<std::uint32_t>(std::ranges::max_element(busy) - busy.begin());
  }

  const TraceIndex& index_;
  const Trace& trace_;
  std::vector<Link> chain_;
  std::vector<HostActivity> activities_;
  std::vector<std::int64_t> late_from_ns_;  ///< by row of Trace::gpu
  std::vector<bool> is_work_lost_;          ///< by row of Trace::gpu
  std::vector<PathLink> links_;
};

}  // namespace

const char* to_string(PathClass kind) {
  switch (kind) {
    case PathClass::kGpuCompute:
      return "gpu compute";
    case PathClass::kGpuCommunication:
      return "gpu communication";
    case PathClass::kGpuCopy:
      return "gpu copy";
    default:
      return to_string(static_cast<HostActivity>(static_cast<std::size_t>(kind) - kKernelTypes));
  }
}

std::vector<PathLink> critical_path(const TraceIndex& index, Span window) {
  return PathSearch(index, window).links();
}

}  // namespace headroom::trace
