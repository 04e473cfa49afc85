// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/site/site_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/metric_direction.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::size_t kSparkParts = 60;
/// Needed to tell a change from noise (change_points).
constexpr std::size_t kValuesToTell = 14;
constexpr std::uint64_t kWeek = 7ULL * 24 * 3600;

std::vector<double> numbers_of(const SeriesAnalysis& analysis, std::size_t first, std::size_t last) {
  std::vector<double> numbers;
  for (std::size_t i = first; i <= last; ++i) numbers.push_back(analysis.values[i].value);
  return numbers;
}

/// Keeps four digits.
double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 3 - std::floor(std::log10(std::abs(value))));
  return std::isfinite(scale) && scale > 0 ? std::round(value * scale) / scale : value;
}

std::vector<double> spark_of(const SeriesAnalysis& analysis) {
  const std::size_t count = analysis.values.size(), parts = std::min(count, kSparkParts);
  std::vector<double> spark;
  for (std::size_t i = 0; i < parts; ++i)
    spark.push_back(rounded(median(numbers_of(analysis, count * i / parts, count * (i + 1) / parts - 1))));
  return spark;
}

std::optional<SiteRange> range_of(const std::optional<Interval>& interval) {
  if (!interval) return std::nullopt;
  return SiteRange{interval->low, interval->high};
}

SiteChange change_of(const SeriesAnalysis& analysis, const SeriesSegment& segment) {
  const StoredValue& first = analysis.values[segment.first];
  SiteChange change;
  change.run = first.run;
  change.time = first.time;
  change.commit = first.git_sha;
  change.values_since = analysis.values.size() - segment.first;
  change.drifts = segment.drift.has_value();
  change.ratio = change.drifts ? segment.drift : segment.ratio;
  if (!change.drifts) change.range = range_of(segment.ratio_interval);
  if (change.drifts) change.values_since = segment.last - segment.first + 1;
  change.worse = change.ratio && is_worse(*change.ratio, analysis.series.direction);
  if (segment.first > 0) {
    change.run_before = analysis.values[segment.first - 1].run;
    change.commit_before = analysis.values[segment.first - 1].git_sha;
  }
  // Unlike the run's number, the time survives export and import.
  change.key = first.time != 0 ? fmt::format("{}", first.time) : fmt::format("@{}", first.run);
  return change;
}

std::optional<std::size_t> place_of(const SeriesAnalysis& analysis, std::int64_t run) {
  const auto found = std::ranges::find(analysis.values, run, &StoredValue::run);
  if (found == analysis.values.end()) return std::nullopt;
  return static_cast<std::size_t>(found - analysis.values.begin());
}

/// Each old change passes its key to the nearest new change of the same kind and direction.
void keep_keys(const SeriesAnalysis& analysis, const std::vector<SiteChange>& before,
               std::vector<SiteChange>& changes) {
  constexpr std::size_t kFewRuns = 7;
  std::vector<bool> is_taken(changes.size());
  for (const SiteChange& old : before) {
    const auto old_place = place_of(analysis, old.run);
    if (!old_place) continue;
    std::size_t best = changes.size(), nearest = kFewRuns + 1;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      if (is_taken[i] || changes[i].worse != old.worse || changes[i].drifts != old.drifts) continue;
      const std::size_t place = place_of(analysis, changes[i].run).value();
      const std::size_t far = place > *old_place ? place - *old_place : *old_place - place;
      if (far >= nearest) continue;
      nearest = far;
      best = i;
    }
    if (best == changes.size()) continue;
    is_taken[best] = true;
    changes[best].key = old.key;
  }
  // Runs of the same second.
  for (std::size_t i = 1; i < changes.size(); ++i) {
    const auto same = [&](const SiteChange& other) { return other.key == changes[i].key; };
    if (std::any_of(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(i), same))
      changes[i].key += fmt::format("@{}", changes[i].run);
  }
}

SitePoint point_of(const SeriesAnalysis& analysis, std::size_t first, std::size_t last) {
  if (first == last) {
    return {first, last, analysis.values[first].value, range_of(analysis.values[first].interval)};
  }
  const std::vector<double> numbers = numbers_of(analysis, first, last);
  const auto [least, most] = std::ranges::minmax(numbers);
  return {first, last, median(numbers), SiteRange{least, most}};
}

constexpr const char* kStateFile = ".headroom-site.json";
constexpr const char* kMarker = "headroom_site";
constexpr int kVersion = 1;

}  // namespace

template <>
struct JsonMembers<SiteRange> {
  static constexpr std::tuple kTable{required("low", &SiteRange::low), required("high", &SiteRange::high)};
};

template <>
struct JsonMembers<SiteChange> {
  using Type = SiteChange;
  static constexpr std::tuple kTable{required("run", &Type::run),
                                     required("time", &Type::time),
                                     sparse("commit", &Type::commit),
                                     sparse("run_before", &Type::run_before),
                                     sparse("commit_before", &Type::commit_before),
                                     required("values_since", &Type::values_since),
                                     sparse("drifts", &Type::drifts),
                                     sparse("ratio", &Type::ratio),
                                     sparse("range", &Type::range),
                                     sparse("worse", &Type::worse),
                                     required("key", &Type::key)};
};

template <>
struct JsonMembers<SeriesDigest> {
  using Type = SeriesDigest;
  static constexpr std::tuple kTable{
      required("series", &Type::series),       required("values", &Type::values),
      required("first_run", &Type::first_run), required("last_run", &Type::last_run),
      required("least", &Type::least),         required("most", &Type::most)};
};

template <>
struct JsonCodec<StoredSeries> {
  static Json write(const StoredSeries& one) {
    return {{"id", one.id},
            {"identity", one.identity},
            {"fingerprint", one.fingerprint},
            {"unit", one.unit},
            {"name", one.name},
            {"metric", one.metric},
            {"lower_is_better", lower_is_better(one.direction)}};
  }
  static StoredSeries read(const Json& json, const JsonPath& path) {
    const std::string where = path.text();
    StoredSeries one{json_to<std::int64_t>(json_member(json, "id", where), path),
                     json_string(json, "identity", where),
                     json_string(json, "fingerprint", where),
                     json_string(json, "unit", where),
                     json_string(json, "name", where),
                     json_string(json, "metric", where),
                     Direction::kLowerIsBetter};
    if (json_member(json, "lower_is_better", where).is_null()) {
      one.direction = Direction::kUnknown;
    } else if (!json_bool(json, "lower_is_better", where)) {
      one.direction = Direction::kHigherIsBetter;
    }
    return one;
  }
};

template <>
struct JsonMembers<SiteSeries> {
  using Type = SiteSeries;
  static constexpr std::tuple kTable{
      required("series", &Type::series),         required("mark", &Type::mark),
      required("last_time", &Type::last_time),   required("level", &Type::level),
      sparse("level_range", &Type::level_range), required("spark", &Type::spark),
      required("changes", &Type::changes),       sparse("suspected", &Type::suspected)};
};

template <>
struct JsonMembers<SiteState> {
  using Type = SiteState;
  static constexpr std::tuple kTable{
      required("headroom", &Type::headroom), required("store", &Type::store),
      required("feed", &Type::feed),         required("least_change", &Type::least_change),
      required("assets", &Type::assets),     required("series", &Type::series)};
};

std::string SiteSeries::page() const {
  return fmt::format("series/{}.html", series.id);
}

std::optional<SiteState> read_site_state(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kStateFile;
  std::error_code error;
  if (!std::filesystem::exists(file, error)) {
    // A killed first write leaves a temporary file (write_file_atomically); a branch for pages has only .git.
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      if (name == ".git" || (name.starts_with(".headroom-") && name.ends_with(".tmp"))) continue;
      throw Error(quote(folder.string()) +
                  " is not empty and not a headroom site; it is unchanged: name a new or empty folder");
    }
    if (error) throw Error("cannot read the folder " + quote(folder.string()) + ": " + error.message());
    return std::nullopt;
  }
  const std::string name = file.string();
  const std::string advice = "; the folder is unchanged: name a new or empty one with --site";
  try {
    const Json json = parse_json(read_file(file), name);
    if (!json.is_object() || json_to<int>(json_member(json, kMarker, name), JsonPath(name)) != kVersion)
      throw Error(quote(name) + " was written by another version of headroom");
    return json_to<SiteState>(json, JsonPath(name));
  } catch (const Error& problem) {
    throw Error(problem.what() + advice);
  }
}

void write_site_state(const std::filesystem::path& folder, const SiteState& state) {
  Json json{{kMarker, kVersion}};
  write_members(state, json);
  write_file_atomically(folder / kStateFile, dump_json(json) + "\n");
}

SiteSeries site_summary(const SeriesAnalysis& analysis, const SeriesDigest& mark,
                        const std::vector<SiteChange>& before) {
  SiteSeries one;
  one.series = analysis.series;
  one.mark = mark;
  if (analysis.values.empty()) return one;
  one.last_time = analysis.values.back().time;
  one.level = analysis.segments.back().median;
  one.level_range = range_of(analysis.segments.back().interval);
  one.spark = spark_of(analysis);
  for (std::size_t i = 0; i < analysis.segments.size(); ++i) {
    if (i > 0 || analysis.segments[i].drift) one.changes.push_back(change_of(analysis, analysis.segments[i]));
  }
  keep_keys(analysis, before, one.changes);
  if (analysis.suspected) one.suspected = analysis.values[analysis.suspected->index].run;
  return one;
}

bool is_recent(const SiteSeries& one, const SiteChange& change, std::uint64_t newest) {
  const auto in_week = [newest](std::uint64_t time) { return time + kWeek >= newest; };
  const bool goes_on = change.drifts && change.key == one.changes.back().key;
  return in_week(one.last_time) && (in_week(change.time) || change.values_since <= kValuesToTell || goes_on);
}

std::vector<ChangeOfSeries> changes_of(const SiteState& state) {
  std::vector<ChangeOfSeries> all;
  for (const SiteSeries& series : state.series) {
    for (const SiteChange& change : series.changes) all.push_back({&series, &change});
  }
  std::ranges::sort(all, std::greater<>(), [](const ChangeOfSeries& one) {
    return std::tuple(one.change->time, one.change->run, one.series->series.id);
  });
  return all;
}

std::uint64_t newest_time(const SiteState& state) {
  std::uint64_t newest = 0;
  for (const SiteSeries& series : state.series) newest = std::max(newest, series.last_time);
  return newest;
}

std::string site_change_text(const SiteChange& change, Direction direction) {
  if (!change.ratio) return "from 0";
  const auto percent = [](double ratio) { return fmt::format("{:+.1f}", 100 * (ratio - 1)); };
  const char* verdict = change_word(*change.ratio, direction);
  if (change.drifts)
    return fmt::format("drifts by {} % over {} values, {}", percent(*change.ratio), change.values_since,
                       verdict);
  if (!change.range) return fmt::format("{} % {}", percent(*change.ratio), verdict);
  return fmt::format("{} % ({} .. {}) {}", percent(*change.ratio), percent(change.range->low),
                     percent(change.range->high), verdict);
}

std::vector<SitePoint> site_points(const SeriesAnalysis& analysis, std::size_t most, std::size_t single) {
  const std::size_t count = analysis.values.size();
  std::vector<SitePoint> points;
  const std::size_t singles_from = count <= most ? 0 : count - std::min(count, single);
  const std::size_t room = most > single ? most - single : 1;
  const std::size_t width = singles_from == 0 ? 1 : (singles_from + room - 1) / room;
  for (const SeriesSegment& segment : analysis.segments) {
    std::size_t at = segment.first;
    while (at <= segment.last && at < singles_from) {
      const std::size_t end = std::min({at + width, segment.last + 1, singles_from});
      points.push_back(point_of(analysis, at, end - 1));
      at = end;
    }
    for (; at <= segment.last; ++at) points.push_back(point_of(analysis, at, at));
  }
  return points;
}

}  // namespace headroom
