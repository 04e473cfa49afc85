// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/track.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/record/record_json.h"
#include "headroom/runner/protocol.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/stopping.h"

namespace headroom {
namespace {

constexpr std::size_t kRecentReadings = 31;

template <typename Visit>
void for_each_process(std::span<const Reading> readings, Visit&& visit) {
  for (std::size_t begin = 0; begin < readings.size();) {
    std::size_t end = begin;
    while (end < readings.size() && readings[end].epoch == readings[begin].epoch) ++end;
    visit(readings.subspan(begin, end - begin));
    begin = end;
  }
}

std::size_t warmup_of(std::span<const Reading> process) {
  std::vector<double> values;
  for (const Reading& reading : process) values.push_back(reading.ns);
  return warmup_length(values);
}

constexpr std::array kResources{Resource::kRead, Resource::kWrite,    Resource::kCopy,
                                Resource::kPeak, Resource::kExchange, Resource::kPingPong};

constexpr const char* kGroup = "group";
constexpr const char* kReadings = "readings";

template <typename Result>
auto tracks_of(Result& result) {
  std::vector<decltype(&result.cases.front())> tracks;
  for (auto& track : result.cases) tracks.push_back(&track);
  for (auto& limit : result.limits) tracks.push_back(&limit.track);
  return tracks;
}

GroupResult merge_readings(GroupResult result, GroupResult& before) {
  const auto tracks = tracks_of(result), old = tracks_of(before);
  if (result.title != before.title || tracks.size() != old.size()) return result;
  for (std::size_t i = 0; i < tracks.size(); ++i) tracks[i]->readings = std::move(old[i]->readings);
  return result;
}

}  // namespace

std::vector<std::size_t> warmup_by_process(std::span<const Reading> readings) {
  std::vector<std::size_t> lengths;
  for_each_process(readings,
                   [&](std::span<const Reading> process) { lengths.push_back(warmup_of(process)); });
  return lengths;
}

Series steady_series(std::span<const Reading> readings) {
  Series series;
  for_each_process(readings, [&](std::span<const Reading> process) {
    const std::span<const Reading> steady = process.subspan(warmup_of(process));
    for (const Reading& reading : steady) {
      series.values.push_back(reading.ns);
      series.rounds.push_back(reading.round);
    }
    if (!steady.empty()) series.group_sizes.push_back(steady.size());
  });
  return series;
}

std::vector<double> half_widths(std::span<const Track> cases) {
  std::vector<double> widths(cases.size(), 0);
  std::optional<Series> baseline;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!cases[i].alive()) continue;
    const Series series = steady_series(cases[i].readings);
    widths[i] = sampling_half_width(series).value_or(INFINITY);
    if (baseline)
      widths[i] = std::max(widths[i], ratio_sampling_half_width(series, *baseline).value_or(INFINITY));
    else
      baseline = series;
  }
  return widths;
}

std::optional<double> worst_half_width(std::span<const double> half_widths) {
  const double worst = half_widths.empty() ? 0 : std::ranges::max(half_widths);
  if (!std::isfinite(worst)) return std::nullopt;
  return worst;
}

std::optional<double> recent_median_ns(std::span<const Reading> readings) {
  std::vector<double> values;
  for (const Reading& reading : readings.last(std::min(readings.size(), kRecentReadings))) {
    values.push_back(reading.ns);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

template <>
struct JsonMembers<RankSample> {
  static constexpr std::tuple kTable{required("pid", &RankSample::pid),
                                     required("ns", &RankSample::elapsed_ns),
                                     sparse("columns", &RankSample::columns)};
};

template <>
struct JsonMembers<Reading> {
  static constexpr std::tuple kTable{
      required("round", &Reading::round),
      required("epoch", &Reading::epoch),
      required("ns", &Reading::ns),
      required("noise", &Reading::noise),
      sparse(
          "placement_ns", [](auto& reading) -> auto& { return reading.noise.placement_ns; }),
      sparse("device", &Reading::device),
      sparse("columns", &Reading::columns),
      sparse("ranks", &Reading::ranks)};
};

template <>
struct JsonMembers<PlannedCase> {
  using P = PlannedCase;
  static constexpr std::tuple kTable{
      required("runner", &P::runner),    required("spec", &P::spec),
      required("metric", &P::metric),    required("device", &P::device),
      sparse("limit", &P::is_limit),     sparse("also_metrics", &P::also_metrics),
      sparse("model", &P::model),        sparse("each_rank_counts", &P::each_rank_counts),
      required("baseline", &P::baseline)};
};

template <>
struct JsonMembers<CountedPass> {
  static constexpr std::tuple kTable{required("epoch", &CountedPass::epoch),
                                     required("counts", &CountedPass::counts)};
};

/// Without the readings, which have their own lines.
template <>
struct JsonMembers<Track> {
  static constexpr std::tuple kTable{
      required("planned", &Track::planned), required("outcome", &Track::outcome),
      required("info", &Track::info),       required("iterations", &Track::iterations).at_least(1),
      required("pids", &Track::pids),       sparse("rests", &Track::rests),
      sparse("counted", &Track::counted),   sparse("notes", &Track::notes)};
};

template <>
struct JsonCodec<Resource> {
  static Json write(Resource resource) { return static_cast<int>(resource); }
  static Resource read(const Json& json, const JsonPath& path) {
    const auto number = json_whole<std::size_t>(json, path);
    if (number >= kResources.size()) path.refuse("unknown resource");
    return kResources.at(number);
  }
};

template <>
struct JsonMembers<LimitTrack> {
  static constexpr std::tuple kTable{required("resource", &LimitTrack::resource),
                                     required("track", &LimitTrack::track),
                                     sparse("ranks", &LimitTrack::ranks)};
};

/// Without the readings and fields known only at the end.
template <>
struct JsonMembers<GroupResult> {
  static constexpr std::tuple kTable{
      required("title", &GroupResult::title), required("cases", &GroupResult::cases),
      required("limits", &GroupResult::limits), sparse("of_commands", &GroupResult::of_commands)};
};

void GroupJournal::note(const GroupResult& result) {
  const auto tracks = tracks_of(result);
  Shape shape;
  for (const Track* track : tracks)
    shape.emplace_back(track->is_sampled(), track->pids.size(), track->iterations);
  const bool is_other = title_ != result.title || written_.size() != tracks.size();
  if (is_other) written_.assign(tracks.size(), 0);
  if (is_other || shape != shape_) write_(Json{{kGroup, json_of(result)}});
  title_ = result.title;
  shape_ = std::move(shape);

  Json readings = Json::array();
  for (std::size_t i = 0; i < tracks.size(); ++i) {
    for (; written_[i] < tracks[i]->readings.size(); ++written_[i])
      readings.push_back(Json::array({i, json_of(tracks[i]->readings[written_[i]])}));
  }
  if (!readings.empty()) write_(Json{{kReadings, std::move(readings)}});
}

bool replay(const Json& line, GroupResult& result) {
  const JsonPath root("");
  if (const Json* group = line.find(kGroup)) {
    result = merge_readings(json_to<GroupResult>(*group, JsonPath(root, kGroup)), result);
    return true;
  }
  const Json* readings = line.find(kReadings);
  if (readings == nullptr) return false;
  const JsonPath path(root, kReadings);
  if (!readings->is_array()) path.expected("an array", *readings);
  const auto tracks = tracks_of(result);
  for (const Json& entry : *readings) {
    if (!entry.is_array() || entry.size() != 2) path.expected("pairs of a track and its reading", entry);
    const auto index = json_to<std::size_t>(entry[0], path);
    if (index >= tracks.size()) path.refuse("unknown track");
    auto reading = json_to<Reading>(entry[1], path);
    if (reading.epoch >= tracks[index]->pids.size()) path.refuse("unknown process");
    tracks[index]->readings.push_back(std::move(reading));
  }
  return true;
}

}  // namespace headroom
