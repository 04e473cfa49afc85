// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/timeline/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "headroom/base/json.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom::trace {
namespace {

bool is_within_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// Replaces the middle by "…"; keeps UTF-8 characters whole.
std::string shortened(const std::string& name, std::size_t bytes) {
  static constexpr std::string_view kMiddle = "…";
  if (name.size() <= bytes) return name;
  std::size_t head = (bytes - kMiddle.size()) * 2 / 3, tail = name.size() - (bytes - kMiddle.size() - head);
  while (head > 0 && is_within_character(name[head])) --head;
  while (tail < name.size() && is_within_character(name[tail])) ++tail;
  return name.substr(0, head).append(kMiddle).append(name, tail);
}

void shorten_names(FlameTree& tree) {
  constexpr std::size_t kMost = 500;
  for (std::string& name : tree.names) name = shortened(name, kMost);
}

void shorten_names(std::vector<TimelineName>& names, std::size_t most_bytes) {
  constexpr std::size_t kMost = 1024, kLeast = 16;
  for (std::size_t length = kMost; length >= kLeast; length /= 2) {
    std::size_t bytes = 0;
    for (TimelineName& name : names) {
      name.text = shortened(name.text, length);
      bytes += name.text.size();
    }
    if (bytes <= most_bytes) return;
  }
}

class NameTable {
 public:
  void take(RankTimeline& rank) {
    std::vector<std::uint32_t> numbers;
    for (TimelineName& name : rank.names) numbers.push_back(number_of(std::move(name)));
    rank.names = {};
    for (Track& track : rank.tracks) {
      for (Lane& lane : track.lanes) {
        for (std::uint32_t& name : lane.name) name = numbers[name];
      }
    }
  }
  std::vector<TimelineName> names() { return std::move(names_); }

 private:
  std::uint32_t number_of(TimelineName name) {
    const auto [found, is_new] = numbers_.emplace(name.text, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(std::move(name));
    return found->second;
  }

  std::vector<TimelineName> names_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
};

std::int64_t start_of(const RankTimeline& rank) {
  return saturating_add(rank.start_ns, -rank.offset_ns);
}
std::int64_t end_of(const RankTimeline& rank) {
  return saturating_add(rank.end_ns, -rank.offset_ns);
}

bool are_apart(std::vector<const RankTimeline*> ranks) {
  std::ranges::sort(ranks, {}, [](const RankTimeline* rank) { return start_of(*rank); });
  std::int64_t end = end_of(*ranks.front());
  for (const RankTimeline* rank : ranks) {
    if (start_of(*rank) > end) return true;
    end = std::max(end, end_of(*rank));
  }
  return false;
}

void place_ranks(JobTimeline& job) {
  std::vector<const RankTimeline*> ranks;
  for (const RankTimeline& rank : job.ranks) {
    if (rank.end_ns > rank.start_ns) ranks.push_back(&rank);
  }
  if (ranks.empty()) return;
  if (are_apart(ranks)) {
    for (RankTimeline& rank : job.ranks)
      rank.offset_ns = saturating_add(rank.start_ns, -job.ranks.front().start_ns);
    job.notes.emplace_back(
        "the recordings of the ranks do not overlap in time: each is drawn from its own start; are they from "
        "one job?");
  }
  job.start_ns = start_of(*ranks.front());
  job.end_ns = end_of(*ranks.front());
  for (const RankTimeline* rank : ranks) {
    job.start_ns = std::min(job.start_ns, start_of(*rank));
    job.end_ns = std::max(job.end_ns, end_of(*rank));
  }
}

class JsonWriter {
 public:
  explicit JsonWriter(std::int64_t start_ns) : start_ns_(start_ns) {}

  void job(const JobTimeline& job) {
    text_ += fmt::format("{{\"start_ns\":{},\"length_ns\":{},\"kinds\":[", job.start_ns,
                         saturating_add(job.end_ns, -job.start_ns));
    for (std::size_t kind = 0; kind < kNameKinds; ++kind)
      text_ += fmt::format("{}\"{}\"", kind == 0 ? "" : ",", to_string(static_cast<NameKind>(kind)));
    text_ += "],\"names\":";
    list(job.names, [&](const TimelineName& name) { append_json_string(text_, name.text); });
    text_ += ",\"name_kinds\":";
    list(job.names, [&](const TimelineName& name) { number(static_cast<std::int64_t>(name.kind)); });
    text_ += ",\"ranks\":";
    list(job.ranks, [&](const RankTimeline& one) { rank(one); });
    text_ += '}';
  }
  std::string take() { return std::move(text_); }

 private:
  template <typename Values, typename Write>
  void list(const Values& values, Write write) {
    text_ += '[';
    const char* between = "";
    for (const auto& value : values) {
      text_ += between;
      write(value);
      between = ",";
    }
    text_ += ']';
  }

  void number(std::int64_t value) {
    char digits[24];
    text_.append(digits, std::to_chars(std::begin(digits), std::end(digits), value).ptr);
  }

  template <typename Values>
  void numbers(const Values& values) {
    list(values, [&](auto value) { number(static_cast<std::int64_t>(value)); });
  }

  void rank(const RankTimeline& rank) {
    offset_ns_ = saturating_add(rank.offset_ns, start_ns_);
    text_ += fmt::format("{{\"rank\":{},\"file\":", rank.rank);
    append_json_string(text_, rank.source);
    text_ += fmt::format(
        ",\"offset_ns\":{},\"shortest_ns\":{},\"events\":{},\"slices\":{},\"tracks_left_out\":{},"
        "\"events_left_out\":{},\"tracks\":",
        rank.offset_ns, rank.shortest_ns, rank.events, rank.slices, rank.tracks_left_out,
        rank.events_left_out);
    list(rank.tracks, [&](const Track& one) { track(one); });
    text_ += ",\"counters\":";
    list(rank.counters, [&](const Counter& one) { counter(one); });
    text_ += ",\"flames\":[";
    flame("stack", rank.stacks);
    flame("module", rank.modules);
    text_ += "]}";
  }

  void flame(const char* by, const FlameTree& tree) {
    if (tree.nodes.empty()) return;
    text_ += fmt::format("{}{{\"by\":\"{}\",\"names\":", text_.back() == '[' ? "" : ",", by);
    list(tree.names, [&](const std::string& name) { append_json_string(text_, name); });
    const auto column = [&](const char* key, auto value_of) {
      text_ += fmt::format(",\"{}\":", key);
      list(tree.nodes, [&](const FlameNode& node) { number(value_of(node)); });
    };
    column("parent",
           [](const FlameNode& node) { return node.parent == kNone ? -1 : std::int64_t{node.parent}; });
    column("name", [](const FlameNode& node) { return std::int64_t{node.name}; });
    column("kind", [](const FlameNode& node) { return static_cast<std::int64_t>(node.kind); });
    column("host", [](const FlameNode& node) { return node.host_ns; });
    column("device", [](const FlameNode& node) { return node.device_ns; });
    column("calls", [](const FlameNode& node) { return node.calls; });
    text_ += fmt::format(",\"elsewhere\":{},\"left_out\":{}}}", tree.elsewhere_ns, tree.left_out);
  }

  void track(const Track& track) {
    text_ += fmt::format("{{\"kind\":\"{}\",\"name\":", to_string(track.kind));
    append_json_string(text_, track.name);
    text_ += fmt::format(",\"device\":{},\"events\":{},\"busy_ns\":{},\"lanes\":", track.device, track.events,
                         track.busy_ns);
    list(track.lanes, [&](const Lane& one) { lane(one); });
    text_ += '}';
  }

  void lane(const Lane& lane) {
    std::vector<std::int64_t> gaps, blocks, counts, busy;
    std::int64_t end = 0;
    std::size_t block = 0;
    for (std::size_t i = 0; i < lane.size(); ++i) {
      const std::int64_t start = saturating_add(lane.start_ns[i], -offset_ns_);
      gaps.push_back(saturating_add(start, -end));
      end = saturating_add(start, lane.duration_ns[i]);
      if (lane.count[i] == 1) continue;
      blocks.push_back(static_cast<std::int64_t>(i - block));
      block = i;
      counts.push_back(lane.count[i]);
      busy.push_back(lane.busy_ns[i]);
    }
    text_ += '[';
    numbers(gaps);
    text_ += ',';
    numbers(lane.duration_ns);
    text_ += ',';
    numbers(lane.name);
    for (const std::vector<std::int64_t>* column : {&blocks, &counts, &busy}) {
      text_ += ',';
      numbers(*column);
    }
    text_ += ']';
  }

  void counter(const Counter& counter) {
    std::vector<std::int64_t> at, most;
    std::int64_t before = 0;
    for (std::size_t i = 0; i < counter.bucket.size(); ++i) {
      at.push_back(counter.bucket[i] - before);
      before = counter.bucket[i];
      most.push_back(saturating_add(counter.most[i], -counter.least[i]));
    }
    text_ += fmt::format("{{\"kind\":\"{}\",\"name\":", to_string(counter.kind));
    append_json_string(text_, counter.name);
    text_ += fmt::format(",\"device\":{},\"start_ns\":{},\"bucket_ns\":{},\"at\":", counter.device,
                         saturating_add(counter.start_ns, -offset_ns_), counter.bucket_ns);
    numbers(at);
    text_ += ",\"least\":";
    numbers(counter.least);
    text_ += ",\"most\":";
    numbers(most);
    text_ += ",\"last\":";
    numbers(counter.last);
    text_ += '}';
  }

  std::string text_;
  std::int64_t start_ns_;
  std::int64_t offset_ns_ = 0;
};

}  // namespace

const char* to_string(TrackKind kind) {
  static constexpr std::array kNames{"steps", "collectives", "stream", "annotations", "waits", "thread"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(NameKind kind) {
  static constexpr std::array<const char*, kNameKinds> kNames{
      "compute", "communication", "memory", "operator", "call", "python", "annotation", "wait", "other"};
  return kNames[static_cast<std::size_t>(kind)];
}

const char* to_string(CounterKind kind) {
  static constexpr std::array kNames{"queue", "allocated", "reserved"};
  return kNames[static_cast<std::size_t>(kind)];
}

TimelineLimits limits_of_rank(const TimelineLimits& limits, std::size_t ranks) {
  // Every rank shows a little.
  constexpr std::size_t kLeastSlices = 500, kLeastTracks = 8, kLeastPoints = 200, kLeastNodes = 300;
  const std::size_t parts = std::max<std::size_t>(ranks, 1);
  if (parts == 1) return limits;
  return {std::max(limits.slices / parts, kLeastSlices), std::max(limits.tracks / parts, kLeastTracks),
          std::max(limits.counter_points / parts, kLeastPoints),
          std::max(limits.flame_nodes / parts, kLeastNodes)};
}

JobTimeline job_timeline(std::vector<RankTimeline> ranks, const JobClocks& clocks, std::size_t name_bytes) {
  JobTimeline job;
  job.notes = clocks.notes;
  for (const RankClock& clock : clocks.ranks) {
    RankTimeline& rank = job.ranks.emplace_back(std::move(ranks[clock.place]));
    rank.rank = clock.rank;
    rank.offset_ns = clock.offset_ns;
  }
  if (job.ranks.size() == 1) {
    job.notes.clear();  // about clocks
    job.ranks.front().offset_ns = 0;
  }
  place_ranks(job);
  NameTable names;
  for (RankTimeline& rank : job.ranks) {
    names.take(rank);
    shorten_names(rank.stacks);
    shorten_names(rank.modules);
  }
  job.names = names.names();
  shorten_names(job.names, name_bytes);
  return job;
}

std::string timeline_json(const JobTimeline& job) {
  JsonWriter writer(job.start_ns);
  writer.job(job);
  return writer.take();
}

}  // namespace headroom::trace
