// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/history/series_text.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_summary.h"
#include "headroom/report/interval_json.h"

namespace headroom {
namespace {

/// A page stays small, however long the series is.
constexpr std::size_t kPoints = 1000, kSinglePoints = 300, kSamplesOfProcess = 200;

/// A commit's place in a list that has each once: long series are of few.
class Commits {
 public:
  std::size_t place(const std::string& commit) {
    const auto [known, is_new] = places_.try_emplace(commit, list_.size());
    if (is_new) list_.push_back(visible(commit));
    return known->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> list_;
};

/// By columns, which take a third of the room.
void add_points(const SeriesStory& story, const std::vector<SitePoint>& points, Json& json) {
  std::vector<std::int64_t> runs;
  std::vector<std::uint64_t> times;
  std::vector<std::size_t> counts, commits;
  std::vector<double> values;
  Json low = Json::array(), high = Json::array();
  Commits known;
  for (const SitePoint& point : points) {
    const StoredValue& first = story.values[point.first];
    runs.push_back(first.run);
    times.push_back(first.time);
    counts.push_back(point.last - point.first + 1);
    commits.push_back(known.place(first.git_sha));
    values.push_back(point.value);
    low.push_back(point.range ? Json(point.range->low) : Json(nullptr));
    high.push_back(point.range ? Json(point.range->high) : Json(nullptr));
  }
  json["points"] = {{"run", runs},           {"time", times},           {"value", values},
                    {"low", std::move(low)}, {"high", std::move(high)}, {"values", counts},
                    {"commit", commits}};
  json["commits"] = known.list();
}

Json number_or_null(const std::optional<double>& number) {
  return number ? Json(*number) : Json(nullptr);
}

/// No point stands for values of two levels.
Json levels_json(const SeriesStory& story, const std::vector<SitePoint>& points) {
  Json levels = Json::array();
  std::size_t at = 0;
  for (const SeriesSegment& segment : story.segments) {
    const std::size_t first_point = at;
    while (at < points.size() && points[at].last <= segment.last) ++at;
    const StoredValue& first = story.values[segment.first];
    Json changes = Json::array();
    for (const std::string& line : segment.changes) changes.push_back(visible(line));
    const std::optional<double> ratio = segment.drift ? segment.drift : segment.ratio;
    levels.push_back({{"first", first_point},
                      {"last", at - 1},
                      {"run", first.run},
                      {"time", first.time},
                      {"commit", visible(first.git_sha)},
                      {"values", segment.last - segment.first + 1},
                      {"median", segment.median},
                      {"low", low_of(segment.interval)},
                      {"high", high_of(segment.interval)},
                      {"ratio", number_or_null(segment.ratio)},
                      {"ratio_low", low_of(segment.ratio_interval)},
                      {"ratio_high", high_of(segment.ratio_interval)},
                      {"drift", number_or_null(segment.drift)},
                      {"worse", ratio && is_worse(*ratio, story.series.direction)},
                      {"changes", std::move(changes)}});
  }
  return levels;
}

/// Every so many of them in order of size, so that their distribution stays.
std::vector<double> thinned(std::vector<double> values) {
  if (values.size() <= kSamplesOfProcess) return values;
  std::ranges::sort(values);
  std::vector<double> kept;
  for (std::size_t i = 0; i < kSamplesOfProcess; ++i)
    kept.push_back(values[i * (values.size() - 1) / (kSamplesOfProcess - 1)]);
  return kept;
}

Json samples_json(const SeriesStory& story, const SamplesOfValues& samples) {
  Json list = Json::array();
  for (auto one = samples.rbegin(); one != samples.rend(); ++one) {
    const StoredValue& value = story.values[one->first];
    Json processes = Json::array();
    std::size_t count = 0;
    for (const std::vector<double>& process : one->second.processes) {
      count += process.size();
      processes.push_back(thinned(process));
    }
    list.push_back({{"run", value.run},
                    {"time", value.time},
                    {"commit", visible(value.git_sha)},
                    {"value", value.value},
                    {"low", low_of(value.interval)},
                    {"high", high_of(value.interval)},
                    {"processes", std::move(processes)},
                    {"count", count},
                    {"problem", visible(one->second.problem)}});
  }
  return list;
}

}  // namespace

Page site_series_page(const SeriesStory& story, const SiteSeries& summary, const SamplesOfValues& samples) {
  const StoredSeries& series = story.series;
  const std::vector<SitePoint> points = site_points(story, kPoints, kSinglePoints);
  Json answers = Json::array();
  for (const std::string& answer : series_answers(story)) answers.push_back(visible(answer));
  Json data{{"answers", std::move(answers)},
            {"name", visible(series.name)},
            {"metric", visible(series.metric)},
            {"unit", visible(series.unit)},
            {"machine", visible(series.fingerprint)},
            {"lower_is_better", series.direction == Direction::kLowerIsBetter},
            {"values", summary.mark.values},
            {"singles", story.values.size() > kPoints ? Json(kSinglePoints) : Json(nullptr)}};
  add_points(story, points, data);
  data["levels"] = levels_json(story, points);
  data["suspected"] = summary.suspected ? Json(*summary.suspected) : Json(nullptr);
  data["samples"] = samples_json(story, samples);
  const std::string title = visible(series.name + " " + series.metric);
  Page page{title, "", {}};
  page.feed = "../feed.xml";
  page.links = {{"all series", "../index.html"}};
  page.sections.push_back({"series", title, std::move(data)});
  return page;
}

}  // namespace headroom
