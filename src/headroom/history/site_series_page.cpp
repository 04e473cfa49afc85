// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/history/history_table.h"
#include "headroom/history/series_text.h"
#include "headroom/history/site_page.h"
#include "headroom/history/site_summary.h"
#include "headroom/history/site_text.h"
#include "headroom/report/interval_json.h"

namespace headroom {
namespace {

/// A page stays small, however long the series is.
constexpr std::size_t kPoints = 1000, kSinglePoints = 300, kRows = 30, kSamplesOfProcess = 200;

std::string levels_section(const SeriesStory& story) {
  std::string text =
      "<h2>Levels</h2>\n<table>\n<thead><tr><th>from run (UTC)</th><th>to "
      "run</th><th>commit</th><th>values</th>"
      "<th>median</th><th>95 % interval</th><th>change</th><th>what else "
      "changed</th></tr></thead>\n<tbody>\n";
  for (const SeriesSegment& segment : story.segments) {
    const StoredValue &first = story.values[segment.first], &last = story.values[segment.last];
    std::string change = change_text(segment.ratio, segment.ratio_interval);
    if (segment.ratio) change += is_worse(*segment.ratio, story.series.direction) ? " worse" : " better";
    if (segment.drift) change += (change.empty() ? "" : ", ") + drift_text(segment);
    std::string environment;
    for (const std::string& line : segment.changes) environment += page_text(line) + "<br>";
    if (segment.first > 0 && environment.empty()) environment = "nothing that the environment tells";
    const std::string interval =
        segment.interval ? fmt::format("{:.5g} .. {:.5g}", segment.interval->low, segment.interval->high)
                         : "-";
    text += fmt::format(
        "<tr><td>@{} "
        "{}</td><td>@{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        first.run, format_utc(first.time), last.run, commit_text(first.git_sha),
        segment.last - segment.first + 1, level_of(segment.median, story.series.unit), interval, change,
        environment);
  }
  return text + "</tbody>\n</table>\n";
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

std::string samples_text(const StoredSamples& samples) {
  if (!samples.problem.empty()) return page_text(samples.problem);
  std::size_t count = 0;
  std::string numbers;
  bool is_thinned = false;
  for (const std::vector<double>& process : samples.processes) {
    count += process.size();
    is_thinned = is_thinned || process.size() > kSamplesOfProcess;
    numbers += numbers.empty() ? "" : "<br>";
    for (const double value : thinned(process)) numbers += fmt::format("{:.5g} ", value);
  }
  if (count == 0) return "none";
  return fmt::format("<details><summary>{} sample{}{}</summary>{}</details>", count, count == 1 ? "" : "s",
                     is_thinned ? fmt::format(", {} quantiles of each process", kSamplesOfProcess) : "",
                     numbers);
}

std::string values_section(const SeriesStory& story, const SamplesOfValues& samples) {
  std::string text = fmt::format(
      "<h2>Samples behind the newest {} values and those beside "
      "changes</h2>\n<table>\n<thead><tr><th>run</th>"
      "<th>time (UTC)</th><th>commit</th><th>value</th><th>95 % "
      "interval</th><th>samples</th></tr></thead>\n<tbody>\n",
      std::min(kRows, story.values.size()));
  for (auto one = samples.rbegin(); one != samples.rend(); ++one) {
    const StoredValue& value = story.values[one->first];
    const std::string interval =
        value.interval ? fmt::format("{:.5g} .. {:.5g}", value.interval->low, value.interval->high) : "-";
    text += fmt::format("<tr><td>@{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
                        value.run, format_utc(value.time), commit_text(value.git_sha),
                        level_of(value.value, story.series.unit), interval, samples_text(one->second));
  }
  return text + "</tbody>\n</table>\n<p>headroom show @RUN has those of every other run.</p>\n";
}

/// A commit's place in a list that has each once: long series are of few.
class Commits {
 public:
  std::size_t place(const std::string& commit) {
    const auto [known, is_new] = places_.try_emplace(commit, list_.size());
    if (is_new) list_.push_back(commit);
    return known->second;
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::map<std::string, std::size_t> places_;
  std::vector<std::string> list_;
};

/// By columns, which takes a third of the room: of each point its first run, how many values it stands for,
/// and what site_points says.
Json points_json(const SeriesStory& story) {
  std::vector<std::int64_t> runs;
  std::vector<std::uint64_t> times;
  std::vector<std::size_t> counts, commits;
  std::vector<double> values;
  Json low = Json::array(), high = Json::array();
  Commits known;
  for (const SitePoint& point : site_points(story, kPoints, kSinglePoints)) {
    const StoredValue& first = story.values[point.first];
    runs.push_back(first.run);
    times.push_back(first.time);
    counts.push_back(point.last - point.first + 1);
    commits.push_back(known.place(first.git_sha));
    values.push_back(point.value);
    low.push_back(point.range ? Json(point.range->low) : Json(nullptr));
    high.push_back(point.range ? Json(point.range->high) : Json(nullptr));
  }
  return {{"run", runs},           {"time", times},           {"value", values},
          {"low", std::move(low)}, {"high", std::move(high)}, {"values", counts},
          {"commit", commits},     {"commits", known.list()}};
}

Json page_data(const SeriesStory& story) {
  Json json{{"unit", story.series.unit}, {"points", points_json(story)}, {"levels", Json::array()}};
  for (const SeriesSegment& segment : story.segments) {
    json["levels"].push_back({{"first_run", story.values[segment.first].run},
                              {"last_run", story.values[segment.last].run},
                              {"median", segment.median},
                              {"interval", interval_json(segment.interval)}});
  }
  return json;
}

}  // namespace

std::string site_series_page(const SeriesStory& story, const SiteSeries& summary,
                             const SamplesOfValues& samples) {
  const StoredSeries& series = story.series;
  std::string text = page_head(series.name + " " + series.metric, "../") + "</head>\n<body>\n";
  text += fmt::format("<p><a href=\"../index.html\">all series</a></p>\n<h1>{}</h1>\n", series_title(series));
  for (const std::string& answer : series_answers(story))
    text += fmt::format("<p>{}</p>\n", page_text(answer));
  text +=
      fmt::format("<p>machine {}, {} is better, {} values</p>\n",
                  series.fingerprint.empty() ? "(unknown)" : page_text(series.fingerprint),
                  series.direction == Direction::kLowerIsBetter ? "lower" : "higher", summary.mark.values);
  if (story.values.size() > kPoints) {
    text += fmt::format(
        "<p>The newest {} values are shown one by one, those before as the median, least and most "
        "of neighbours.</p>\n",
        kSinglePoints);
  }
  text += levels_section(story) + values_section(story, samples);
  return text + embedded_json("series", page_data(story)) + "</body>\n</html>\n";
}

}  // namespace headroom
