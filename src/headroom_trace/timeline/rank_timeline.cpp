// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/timeline/rank_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>

#include "headroom_trace/columns/attribution.h"
#include "headroom_trace/columns/kernel_names.h"
#include "headroom_trace/index/steps.h"
#include "headroom_trace/index/trace_index.h"
#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/launches.h"
#include "headroom_trace/work/memory.h"
#include "headroom_trace/work/python_work.h"

namespace headroom::trace {
namespace {

std::size_t hash_of(std::uint32_t parent, std::uint32_t name) {
  return static_cast<std::size_t>(((std::uint64_t{parent} << 32U) | name) * 0x9E3779B97F4A7C15ULL >> 20U);
}

void add_device_times_upwards(std::vector<FlameNode>& nodes) {
  for (std::size_t i = nodes.size(); i-- > 0;) {
    if (nodes[i].parent == kNone) continue;
    std::int64_t& above = nodes[nodes[i].parent].device_ns;
    above = saturating_add(above, nodes[i].device_ns);
  }
}

/// Largest first.
std::vector<std::uint32_t> by_share(const std::vector<FlameNode>& nodes) {
  double host = 1, device = 1;
  for (const FlameNode& node : nodes) {
    if (node.parent != kNone) continue;
    host += static_cast<double>(node.host_ns);
    device += static_cast<double>(node.device_ns);
  }
  std::vector<double> share(nodes.size());
  // At least a child's share, so that ancestors stay.
  for (std::size_t i = nodes.size(); i-- > 0;) {
    share[i] = std::max({share[i], static_cast<double>(nodes[i].host_ns) / host,
                         static_cast<double>(nodes[i].device_ns) / device});
    if (nodes[i].parent != kNone) share[nodes[i].parent] = std::max(share[nodes[i].parent], share[i]);
  }
  std::vector<std::uint32_t> order(nodes.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t node) { return share[node]; });
  return order;
}

FlameTree bounded(FlameTree whole, std::size_t most) {
  if (whole.nodes.size() <= most) return whole;
  std::vector<std::uint32_t> kept = by_share(whole.nodes);
  kept.resize(most);
  std::ranges::sort(kept);
  FlameTree tree;
  tree.elsewhere_ns = whole.elsewhere_ns;
  tree.left_out = whole.nodes.size() - most;
  std::vector<std::uint32_t> number(whole.nodes.size(), kNone), name(whole.names.size(), kNone);
  for (const std::uint32_t old : kept) {
    FlameNode node = whole.nodes[old];
    if (node.parent != kNone) node.parent = number[node.parent];
    if (name[node.name] == kNone) {
      name[node.name] = static_cast<std::uint32_t>(tree.names.size());
      tree.names.push_back(std::move(whole.names[node.name]));
    }
    node.name = name[node.name];
    number[old] = static_cast<std::uint32_t>(tree.nodes.size());
    tree.nodes.push_back(node);
  }
  return tree;
}

/// Bounds the search for a free lane.
constexpr std::size_t kMostSideBySide = 16;
static_assert(kMostSideBySide <= kMaxLanes);

bool stands_before(const LaneEvent& a, const LaneEvent& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.duration_ns > b.duration_ns;
}

std::int64_t end_of(const LaneEvent& event) {
  return saturating_add(event.start_ns, event.duration_ns);
}

void put(std::vector<std::vector<LaneEvent>>& lanes, std::size_t depth, const LaneEvent& event) {
  if (lanes.size() <= depth) lanes.resize(depth + 1);
  lanes[depth].push_back(event);
}

constexpr std::int64_t kLongest = std::numeric_limits<std::int64_t>::max();

/// Calls use(i, time) for each event but the first, which joins the preceding block if `time` is below the
/// resolution.
template <typename Use>
void for_each_pair(EventLane events, Use use) {
  if (events.empty()) return;
  std::int64_t end = end_of(events.front());
  for (std::size_t i = 1; i < events.size(); ++i) {
    const std::int64_t start = events[i].start_ns;
    // Overflow only in damaged files.
    const std::int64_t gap = start <= end ? 0 : saturating_add(start, -std::max(end, -kLongest));
    use(i, std::min(std::max({events[i - 1].duration_ns, events[i].duration_ns, gap}), kLongest - 1));
    end = std::max(end, end_of(events[i]));
  }
}

/// Monotonic buckets, 32 per power of two.
constexpr unsigned kFineBits = 5;
constexpr std::size_t kBuckets = std::size_t{64} << kFineBits;
std::size_t bucket_of(std::int64_t time_ns) {
  const auto time = static_cast<std::uint64_t>(time_ns);
  const auto bits = static_cast<unsigned>(std::bit_width(time));
  if (bits <= kFineBits + 1) return time;
  const unsigned shift = bits - kFineBits - 1;
  return (std::size_t{shift} << kFineBits) + static_cast<std::size_t>(time >> shift);
}

/// A counter before its number of buckets is known.
struct CounterSeries {
  Counter counter;
  std::vector<CounterPoint> points;
  std::int64_t before = 0;
};

std::vector<CounterSeries> queue_series(const Trace& trace, std::span<const std::uint32_t> launch) {
  std::vector<CounterSeries> found;
  for (const StreamQueue& queue : queue_lengths(trace, launch)) {
    if (queue.steps.empty()) continue;
    CounterSeries& series = found.emplace_back();
    series.counter.kind = CounterKind::kQueue;
    series.counter.name = fmt::format("stream {}", queue.stream);
    series.counter.device = queue.device;
    for (const QueueStep& step : queue.steps) series.points.push_back({step.at_ns, step.length});
  }
  return found;
}

struct MemorySeries {
  std::vector<CounterPoint> allocated, summed, reserved;
  std::int64_t sum = 0;

  void add(const MemoryEvent& event) {
    sum = saturating_add(sum, event.bytes);
    summed.push_back({event.at_ns, sum});
    if (event.total_allocated >= 0) allocated.push_back({event.at_ns, event.total_allocated});
    if (event.total_reserved > 0) reserved.push_back({event.at_ns, event.total_reserved});
  }
};

void add_memory_series(const Trace& trace, std::vector<CounterSeries>& found) {
  std::vector<std::uint32_t> order(trace.memory.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto at = [&](std::uint32_t row) { return trace.memory[row].at_ns; };
  if (!std::ranges::is_sorted(order, {}, at)) std::ranges::stable_sort(order, {}, at);
  std::map<std::pair<std::int32_t, std::int32_t>, MemorySeries> devices;
  for (const std::uint32_t row : order)
    devices[{trace.memory[row].device_type, trace.memory[row].device}].add(trace.memory[row]);
  for (auto& [device, memory] : devices) {
    const auto add = [&found, device = device](CounterKind kind, std::vector<CounterPoint>& points,
                                               std::int64_t before) {
      CounterSeries& series = found.emplace_back();
      series.counter.kind = kind;
      series.counter.name = device_type_name(device.first);
      if (device.second >= 0) series.counter.name += fmt::format(" {}", device.second);
      series.counter.device = device.second;
      series.before = before;
      series.points = std::move(points);
    };
    // The allocator's totals include earlier memory.
    if (memory.allocated.empty())
      add(CounterKind::kAllocated, memory.summed, 0);
    else
      add(CounterKind::kAllocated, memory.allocated, memory.allocated.front().value);
    if (!memory.reserved.empty()) add(CounterKind::kReserved, memory.reserved, memory.reserved.front().value);
  }
}

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
    const std::vector<Step> all = step_set(trace_).steps;
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
    if (recent_ != kNone && key == recent_key_) return recent_;  // neighbours mostly share a stream
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
  std::vector<std::uint32_t> threads_, annotations_;  ///< track by thread, or kNone
  std::map<std::pair<std::int32_t, std::int64_t>, std::uint32_t> streams_;
  std::map<std::int32_t, std::uint32_t> waits_;
  std::pair<std::int32_t, std::int64_t> recent_key_;
  std::uint32_t recent_ = kNone;
};

/// Keeps the busiest.
void leave_tracks_out(std::vector<TrackDraft>& drafts, std::size_t most, RankTimeline& timeline) {
  if (drafts.size() <= most) return;
  std::vector<std::size_t> order(drafts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto weight = [&](std::size_t i) {
    return std::pair(drafts[i].track.kind != TrackKind::kSteps, -drafts[i].track.busy_ns);
  };
  std::ranges::stable_sort(order, {}, weight);
  for (std::size_t place = most; place < order.size(); ++place) {
    ++timeline.tracks_left_out;
    timeline.events_left_out += drafts[order[place]].track.events;
    drafts[order[place]].events.clear();
  }
  std::erase_if(drafts, [](const TrackDraft& draft) { return draft.events.empty(); });
}

/// By frequency: short numbers in JSON.
void number_names(const TrackDrafts& drafts, const Names& of_trace, RankTimeline& timeline) {
  std::vector<std::size_t> uses(drafts.kinds.size());
  for (const Track& track : timeline.tracks) {
    for (const Lane& lane : track.lanes) {
      for (const std::uint32_t name : lane.name) ++uses[name];
    }
  }
  std::vector<std::uint32_t> order(uses.size()), number(uses.size());
  std::iota(order.begin(), order.end(), 0U);
  std::erase_if(order, [&](std::uint32_t name) { return uses[name] == 0; });
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t name) { return uses[name]; });
  for (const std::uint32_t name : order) {
    number[name] = static_cast<std::uint32_t>(timeline.names.size());
    timeline.names.push_back({drafts.name(of_trace, name), drafts.kinds[name]});
  }
  for (Track& track : timeline.tracks) {
    for (Lane& lane : track.lanes) {
      for (std::uint32_t& name : lane.name) name = number[name];
    }
  }
}

void make_tracks(TrackDrafts drafts, const Names& of_trace, const TimelineLimits& limits,
                 RankTimeline& timeline) {
  leave_tracks_out(drafts.tracks, limits.tracks, timeline);
  std::vector<std::vector<std::vector<LaneEvent>>> lanes;
  std::vector<EventLane> all;
  for (TrackDraft& draft : drafts.tracks) {
    sort_lane_events(draft.events);
    lanes.push_back(draft.nests() ? nested_lanes(draft.events) : side_by_side_lanes(draft.events));
    all.insert(all.end(), lanes.back().begin(), lanes.back().end());
    draft.events = {};
  }
  timeline.shortest_ns = shortest_slice_ns(all, limits.slices);
  SliceBlocks blocks(timeline.shortest_ns, drafts.kinds.size());
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    Track& track = timeline.tracks.emplace_back(std::move(drafts.tracks[i].track));
    timeline.events += track.events;
    for (const std::vector<LaneEvent>& lane : lanes[i]) {
      track.lanes.push_back(blocks.lane(lane));
      timeline.slices += track.lanes.back().size();
    }
    lanes[i] = {};
  }
  number_names(drafts, of_trace, timeline);
}

}  // namespace

StackSums::StackSums(const Trace& trace, const HostOrder& host)
    : trace_(trace),
      slots_(1024, kNone),
      names_(trace.names.size(), kNone),
      node_of_event_(trace.events.size(), kNone) {
  for (const std::uint32_t event : host.events) add(event, host);
}

std::uint32_t StackSums::name_of(std::uint32_t event) {
  const NameId id = trace_.events.name[event];
  if (names_[id] != kNone) return names_[id];
  std::string_view text = trace_.names[id];
  // Drop step numbers and addresses of C functions.
  if (is_step_name(text)) text = text.substr(0, text.find('#'));
  std::string name =
      trace_.events.category[event] == Category::kPython ? plain_frame(text) : std::string(text);
  const auto next = static_cast<std::uint32_t>(tree_.names.size());
  names_[id] = name.size() == trace_.names[id].size() ? next : changed_.emplace(name, next).first->second;
  if (names_[id] == next) tree_.names.push_back(std::move(name));
  return names_[id];
}

void StackSums::grow() {
  slots_.assign(2 * slots_.size(), kNone);
  const std::size_t mask = slots_.size() - 1;
  for (std::uint32_t node = 0; node < tree_.nodes.size(); ++node) {
    std::size_t slot = hash_of(tree_.nodes[node].parent, tree_.nodes[node].name) & mask;
    while (slots_[slot] != kNone) slot = (slot + 1) & mask;
    slots_[slot] = node;
  }
}

std::uint32_t StackSums::child(std::uint32_t parent, std::uint32_t event) {
  if (2 * (tree_.nodes.size() + 1) > slots_.size()) grow();
  const std::uint32_t name = name_of(event);
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash_of(parent, name) & mask;
  for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const FlameNode& node = tree_.nodes[slots_[slot]];
    if (node.parent == parent && node.name == name) return slots_[slot];
  }
  slots_[slot] = static_cast<std::uint32_t>(tree_.nodes.size());
  tree_.nodes.push_back({parent, name, name_kind(trace_.events.category[event])});
  return slots_[slot];
}

void StackSums::add(std::uint32_t event, const HostOrder& host) {
  constexpr std::uint32_t kMostDeep = 1000;
  std::uint32_t around = host.parent[event];
  while (around != kNone && !is_mostly_in(trace_.events, event, around)) around = host.parent[around];
  const std::uint32_t parent = around == kNone ? kNone : node_of_event_[around];
  node_of_event_[event] = parent;
  const std::uint32_t depth = parent == kNone ? 0 : depth_[parent] + 1;
  if (depth >= kMostDeep) return;
  const std::uint32_t node = child(parent, event);
  depth_.resize(tree_.nodes.size(), depth);
  ++tree_.nodes[node].calls;
  tree_.nodes[node].host_ns = saturating_add(tree_.nodes[node].host_ns, trace_.events.duration_ns[event]);
  node_of_event_[event] = node;
}

FlameTree StackSums::take_tree(std::span<const std::uint32_t> launch, std::size_t most) {
  for (std::size_t row = 0; row < trace_.gpu.size(); ++row) {
    const std::uint32_t node = launch[row] == kNone ? kNone : node_of_event_[launch[row]];
    std::int64_t& time = node == kNone ? tree_.elsewhere_ns : tree_.nodes[node].device_ns;
    time = saturating_add(time, trace_.events.duration_ns[trace_.gpu[row].event]);
  }
  add_device_times_upwards(tree_.nodes);
  return bounded(std::move(tree_), most);
}

FlameTree module_tree(const TraceIndex& index, std::size_t most) {
  const PythonWork work = python_work(index.trace(), index.launches(), index.ops(), index.host());
  FlameTree tree;
  std::map<std::string_view, std::uint32_t> names;
  for (std::size_t i = 0; i < work.modules.size(); ++i) {
    const auto [name, is_new] =
        names.emplace(work.modules[i].name, static_cast<std::uint32_t>(tree.names.size()));
    if (is_new) tree.names.emplace_back(work.modules[i].name);
    const PythonTimes& times = work.module_times[i];
    tree.nodes.push_back({work.modules[i].parent, name->second, NameKind::kPython,
                          std::max<std::int64_t>(times.host_ns, 0), times.all.device_ns,
                          std::max<std::int64_t>(times.calls, 0)});
  }
  tree.elsewhere_ns = work.total.device_ns;
  for (const FlameNode& node : tree.nodes) {
    if (node.parent == kNone) tree.elsewhere_ns -= node.device_ns;
  }
  return bounded(std::move(tree), most);
}

void sort_lane_events(std::vector<LaneEvent>& events) {
  if (!std::ranges::is_sorted(events, stands_before)) std::ranges::stable_sort(events, stands_before);
}

std::vector<std::vector<LaneEvent>> nested_lanes(const std::vector<LaneEvent>& events) {
  std::vector<std::vector<LaneEvent>> lanes;
  std::vector<std::int64_t> open;  ///< ends, by depth
  for (const LaneEvent& event : events) {
    while (!open.empty() && open.back() <= event.start_ns) open.pop_back();
    put(lanes, std::min(open.size(), kMaxLanes - 1), event);
    open.push_back(end_of(event));
  }
  return lanes;
}

std::vector<std::vector<LaneEvent>> side_by_side_lanes(const std::vector<LaneEvent>& events) {
  std::vector<std::vector<LaneEvent>> lanes;
  std::vector<std::int64_t> ends;
  for (const LaneEvent& event : events) {
    std::size_t lane = 0;
    while (lane < ends.size() && ends[lane] > event.start_ns) ++lane;
    lane = std::min(lane, kMostSideBySide - 1);
    put(lanes, lane, event);
    if (ends.size() <= lane) ends.push_back(end_of(event));
    ends[lane] = std::max(ends[lane], end_of(event));
  }
  return lanes;
}

std::int64_t shortest_slice_ns(std::span<const EventLane> lanes, std::size_t budget) {
  std::array<std::uint64_t, kBuckets> histogram{};
  std::size_t events = 0;
  for (const EventLane lane : lanes) {
    events += lane.size();
    for_each_pair(lane, [&](std::size_t, std::int64_t time) { ++histogram[bucket_of(time)]; });
  }
  if (events <= budget) return 0;
  std::uint64_t joined = 0;
  const std::uint64_t wanted = events - budget;
  std::size_t bucket = 0;
  while (bucket < kBuckets && joined + histogram[bucket] < wanted) joined += histogram[bucket++];
  if (bucket == kBuckets) return kLongest;
  std::vector<std::int64_t> times;
  times.reserve(histogram[bucket]);
  for (const EventLane lane : lanes) {
    for_each_pair(lane, [&](std::size_t, std::int64_t time) {
      if (bucket_of(time) == bucket) times.push_back(time);
    });
  }
  const auto last = times.begin() + static_cast<std::ptrdiff_t>(wanted - joined - 1);
  std::ranges::nth_element(times, last);
  return *last + 1;
}

std::uint32_t SliceBlocks::longest_name(EventLane block) {
  for (const LaneEvent& event : block)
    time_of_name_[event.name] = saturating_add(time_of_name_[event.name], event.duration_ns);
  std::uint32_t longest = block.front().name;
  for (const LaneEvent& event : block) {
    if (time_of_name_[event.name] > time_of_name_[longest]) longest = event.name;
  }
  for (const LaneEvent& event : block) time_of_name_[event.name] = 0;
  return longest;
}

Lane SliceBlocks::lane(EventLane events) {
  Lane lane;
  const auto add = [&](EventLane block) {
    std::int64_t end = std::numeric_limits<std::int64_t>::min(), busy = 0;
    for (const LaneEvent& event : block) {
      end = std::max(end, end_of(event));
      busy = saturating_add(busy, event.duration_ns);
    }
    const std::int64_t start = block.front().start_ns;
    lane.start_ns.push_back(start);
    lane.duration_ns.push_back(block.size() == 1 ? block.front().duration_ns
                                                 : saturating_add(end, -std::max(start, -kLongest)));
    lane.name.push_back(longest_name(block));
    lane.count.push_back(static_cast<std::uint32_t>(block.size()));
    lane.busy_ns.push_back(busy);
  };
  std::size_t first = 0;
  for_each_pair(events, [&](std::size_t i, std::int64_t time) {
    if (time < shortest_ns_) return;
    add(events.subspan(first, i - first));
    first = i;
  });
  if (!events.empty()) add(events.subspan(first));
  return lane;
}

void fill_buckets(std::span<const CounterPoint> points, std::int64_t before, Extent extent,
                  std::size_t buckets, Counter& counter) {
  const std::int64_t most = static_cast<std::int64_t>(std::max<std::size_t>(buckets, 1));
  counter.start_ns = extent.start_ns;
  counter.bucket_ns = std::max<std::int64_t>(1, extent.length_ns() / most + 1);
  std::int64_t value = before;
  for (const CounterPoint& point : points) {
    const std::int64_t at = std::clamp(point.at_ns, extent.start_ns, extent.end_ns);
    const auto bucket = static_cast<std::uint32_t>((at - extent.start_ns) / counter.bucket_ns);
    if (counter.bucket.empty() || counter.bucket.back() != bucket) {
      counter.bucket.push_back(bucket);
      // A bucket starting with a point excludes the previous value.
      const bool begins = (at - extent.start_ns) % counter.bucket_ns == 0;
      counter.least.push_back(begins ? point.value : value);
      counter.most.push_back(counter.least.back());
      counter.last.push_back(value);
    }
    value = point.value;
    counter.least.back() = std::min(counter.least.back(), value);
    counter.most.back() = std::max(counter.most.back(), value);
    counter.last.back() = value;
  }
}

std::vector<Counter> counters_of(const Trace& trace, std::span<const std::uint32_t> launch, Extent extent,
                                 std::size_t points) {
  constexpr std::size_t kLeastBuckets = 50, kMostBuckets = 4000;
  std::vector<CounterSeries> found = queue_series(trace, launch);
  add_memory_series(trace, found);
  if (found.empty()) return {};
  if (found.size() > points / kLeastBuckets) found.resize(std::max<std::size_t>(points / kLeastBuckets, 1));
  const std::size_t buckets = std::clamp(points / found.size(), kLeastBuckets, kMostBuckets);
  std::vector<Counter> counters;
  for (CounterSeries& series : found) {
    fill_buckets(series.points, series.before, extent, buckets, series.counter);
    counters.push_back(std::move(series.counter));
  }
  return counters;
}

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

RankTimeline rank_timeline(const Trace& trace, std::span<const CollectiveCall> calls,
                           const TimelineLimits& limits) {
  RankTimeline timeline;
  timeline.source = trace.source;
  timeline.rank = trace.rank.value_or(0);
  const Extent extent = trace_extent(trace);
  timeline.start_ns = extent.start_ns;
  timeline.end_ns = extent.end_ns;
  make_tracks(track_drafts(trace, calls), trace.names, limits, timeline);
  const TraceIndex index(trace);
  timeline.counters = counters_of(trace, index.launches(), extent, limits.counter_points);
  timeline.stacks = StackSums(trace, index.host()).take_tree(index.launches(), limits.flame_nodes);
  timeline.modules = module_tree(index, limits.flame_nodes);
  return timeline;
}

}  // namespace headroom::trace
