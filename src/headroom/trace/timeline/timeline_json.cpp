// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/timeline/timeline_json.h"

#include <fmt/format.h>

#include <charconv>
#include <iterator>
#include <span>

#include "headroom/base/json.h"
#include "headroom/trace/columns/trace.h"
#include "headroom/trace/tables/duration_stats.h"

namespace headroom::trace {
namespace {

class Writer {
 public:
  explicit Writer(std::int64_t start_ns) : start_ns_(start_ns) {}

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
  std::int64_t offset_ns_ = 0;  ///< from the rank's clock to ns after start_ns
};

}  // namespace

std::string timeline_json(const JobTimeline& job) {
  Writer writer(job.start_ns);
  writer.job(job);
  return writer.take();
}

}  // namespace headroom::trace
