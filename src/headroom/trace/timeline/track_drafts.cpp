// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/track_drafts.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "headroom/trace/columns/kernel_type.h"
#include "headroom/trace/columns/steps.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

NameKind kind_of(KernelType type) {
  if (type == KernelType::kCommunication) return NameKind::kCommunication;
  return type == KernelType::kMemory ? NameKind::kMemory : NameKind::kCompute;
}

/// "thread 1001 (main), python 1000"
std::string name_of(const Thread& thread) {
  std::string name = thread.thread_name.empty() ? "thread " + thread.tid : thread.thread_name;
  if (!thread.pid.empty() || !thread.process_name.empty())
    name += fmt::format(", {} {}", thread.process_name.empty() ? "process" : thread.process_name, thread.pid);
  return name;
}

std::int32_t device_in(const std::string& pid) {
  std::int32_t device = -1;
  const auto [end, error] = std::from_chars(pid.data(), pid.data() + pid.size(), device);
  return error == std::errc{} && end == pid.data() + pid.size() ? device : -1;
}

/// Finds the track of each event, and makes it when it is the first.
class Drafting {
 public:
  Drafting(const Trace& trace, std::span<const CollectiveCall> calls)
      : trace_(trace), threads_(trace.threads.size(), kNone), annotations_(trace.threads.size(), kNone) {
    find_kinds();
    add_steps();
    add_collectives(calls);
    add_events();
  }

  TrackDrafts take() {
    for (TrackDraft& draft : drafts_.tracks) {
      draft.track.events = draft.events.size();
      for (const LaneEvent& event : draft.events)
        draft.track.busy_ns = saturating_add(draft.track.busy_ns, event.duration_ns);
    }
    std::ranges::stable_sort(drafts_.tracks, {}, [](const TrackDraft& draft) {
      const TrackKind kind = draft.track.kind;
      const int part = kind == TrackKind::kSteps ? 0 : kind == TrackKind::kThread ? 2 : 1;
      return std::tuple(part, draft.track.device, kind, part == 2 ? -draft.track.busy_ns : draft.number);
    });
    return std::move(drafts_);
  }

 private:
  void find_kinds() {
    const Events& events = trace_.events;
    drafts_.kinds.resize(trace_.names.size(), NameKind::kOther);
    for (std::size_t i = 0; i < events.size(); ++i) {
      NameKind& kind = drafts_.kinds[events.name[i]];
      if (kind == NameKind::kOther) kind = name_kind(events.category[i]);
    }
    const std::vector<KernelType> types = kernel_types(trace_);
    for (std::size_t row = 0; row < types.size(); ++row)
      drafts_.kinds[events.name[trace_.gpu[row].event]] = kind_of(types[row]);
  }

  std::uint32_t new_track(TrackKind kind, std::string name, std::int32_t device, std::int64_t number = 0) {
    TrackDraft& draft = drafts_.tracks.emplace_back();
    draft.track.kind = kind;
    draft.track.name = std::move(name);
    draft.track.device = device;
    draft.number = number;
    return static_cast<std::uint32_t>(drafts_.tracks.size() - 1);
  }

  void add_steps() {
    const std::vector<Step> all = steps(trace_);
    if (all.empty()) return;
    TrackDraft& draft = drafts_.tracks[new_track(TrackKind::kSteps, "steps", -1)];
    for (const Step& step : all)
      draft.events.push_back({step.start_ns, step.end_ns - step.start_ns, trace_.names.find(step.name)});
  }

  void add_collectives(std::span<const CollectiveCall> calls) {
    std::map<std::int32_t, std::uint32_t> tracks;
    std::map<std::string, std::uint32_t> names;
    for (const CollectiveCall& call : calls) {
      auto [track, is_new] = tracks.emplace(call.device, 0);
      if (is_new) track->second = new_track(TrackKind::kCollectives, "collectives", call.device);
      const std::string text = fmt::format("{}, group {}", call.collective, call.group);
      const auto [name, is_new_name] = names.emplace(text, static_cast<std::uint32_t>(drafts_.kinds.size()));
      if (is_new_name) {
        drafts_.own_names.push_back(text);
        drafts_.kinds.push_back(NameKind::kCommunication);
      }
      drafts_.tracks[track->second].events.push_back({call.start_ns, call.duration_ns, name->second});
    }
  }

  std::uint32_t track_of_work(const GpuDetail& work) {
    const std::pair<std::int32_t, std::int64_t> key{device_of(trace_, work), work.stream};
    if (recent_ != kNone && key == recent_key_) return recent_;  // neighbours are of one stream, mostly
    auto [track, is_new] = streams_.emplace(key, 0);
    if (is_new)
      track->second =
          new_track(TrackKind::kStream, key.second < 0 ? "stream ?" : fmt::format("stream {}", key.second),
                    key.first, key.second);
    recent_key_ = key;
    return recent_ = track->second;
  }

  std::uint32_t track_of_wait(std::size_t event) {
    const std::uint32_t detail = trace_.events.detail[event];
    const std::int32_t device = detail == kNone ? -1 : trace_.syncs[detail].device;
    auto [track, is_new] = waits_.emplace(device, 0);
    if (is_new) track->second = new_track(TrackKind::kWaits, "synchronisations", device);
    return track->second;
  }

  std::uint32_t track_of_annotation(std::uint32_t thread) {
    std::uint32_t& track = annotations_[thread];
    if (track == kNone) {
      const Thread& row = trace_.threads[thread];
      track = new_track(TrackKind::kAnnotations, fmt::format("annotations of stream {}", row.tid),
                        device_in(row.pid), device_in(row.tid));
    }
    return track;
  }

  std::uint32_t track_of(std::size_t event) {
    const Category category = trace_.events.category[event];
    const std::uint32_t thread = trace_.events.thread[event], detail = trace_.events.detail[event];
    if (is_gpu_work(category) && detail != kNone) return track_of_work(trace_.gpu[detail]);
    if (category == Category::kGpuSync) return track_of_wait(event);
    if (category == Category::kGpuAnnotation) return track_of_annotation(thread);
    if (threads_[thread] == kNone)
      threads_[thread] = new_track(TrackKind::kThread, name_of(trace_.threads[thread]), -1);
    return threads_[thread];
  }

  void add_events() {
    const Events& events = trace_.events;
    std::vector<std::uint32_t> tracks(events.size());
    std::vector<std::size_t> counts;
    for (std::size_t i = 0; i < events.size(); ++i) {
      tracks[i] = track_of(i);
      if (counts.size() <= tracks[i]) counts.resize(tracks[i] + 1);
      ++counts[tracks[i]];
    }
    for (std::size_t track = 0; track < counts.size(); ++track) {
      if (counts[track] > 0) drafts_.tracks[track].events.reserve(counts[track]);
    }
    for (std::size_t i = 0; i < events.size(); ++i)
      drafts_.tracks[tracks[i]].events.push_back(
          {events.start_ns[i], events.duration_ns[i], events.name[i], static_cast<std::uint32_t>(i)});
  }

  const Trace& trace_;
  TrackDrafts drafts_;
  std::vector<std::uint32_t> threads_, annotations_;  ///< by row of Trace::threads: track, or kNone
  std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> streams_;
  std::map<std::int32_t, std::uint32_t> waits_;
  std::pair<std::int32_t, std::int64_t> recent_key_;
  std::uint32_t recent_ = kNone;
};

}  // namespace

NameKind name_kind(Category category) {
  switch (category) {
    case Category::kKernel:
      return NameKind::kCompute;
    case Category::kGpuMemcpy:
    case Category::kGpuMemset:
      return NameKind::kMemory;
    case Category::kGpuAnnotation:
    case Category::kUserAnnotation:
      return NameKind::kAnnotation;
    case Category::kGpuSync:
      return NameKind::kWait;
    case Category::kRuntime:
    case Category::kDriver:
      return NameKind::kCall;
    case Category::kCpuOp:
      return NameKind::kOperator;
    case Category::kPython:
      return NameKind::kPython;
    case Category::kOverhead:
    case Category::kOther:
      return NameKind::kOther;
  }
  return NameKind::kOther;
}

TrackDrafts track_drafts(const Trace& trace, std::span<const CollectiveCall> calls) {
  return Drafting(trace, calls).take();
}

}  // namespace headroom::trace
