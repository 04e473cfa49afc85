// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/site/site_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/text.h"
#include "headroom/history/history_table.h"
#include "headroom/history/run_text.h"
#include "headroom/report/interval_json.h"

namespace headroom {
namespace {

std::string name_of(const SiteSeries& one) {
  return visible(one.series.name + " " + one.series.metric);
}

std::string machine_of(const SiteSeries& one) {
  return one.series.fingerprint.empty() ? "(unknown machine)" : visible(one.series.fingerprint);
}

Json range_end(const std::optional<SiteRange>& range, double SiteRange::*end) {
  return range ? Json((*range).*end) : Json(nullptr);
}

Json change_json(const SiteSeries& series, const SiteChange& change) {
  return {{"series", name_of(series)},
          {"href", series.page()},
          {"machine", machine_of(series)},
          {"run", change.run},
          {"time", change.time},
          {"commit", visible(change.commit)},
          {"since", change.values_since},
          {"drifts", change.drifts},
          {"ratio", change.ratio ? Json(*change.ratio) : Json(nullptr)},
          {"low", range_end(change.range, &SiteRange::low)},
          {"high", range_end(change.range, &SiteRange::high)},
          {"worse", change.worse}};
}

Json changes_json(const SiteState& state) {
  constexpr std::size_t kEarlier = 100;
  const std::uint64_t newest = newest_time(state);
  Json recent = Json::array(), earlier = Json::array(), suspected = Json::array();
  std::size_t earlier_count = 0;
  for (const ChangeOfSeries& one : changes_of(state)) {
    if (is_recent(*one.series, *one.change, newest)) {
      recent.push_back(change_json(*one.series, *one.change));
    } else if (++earlier_count <= kEarlier) {
      earlier.push_back(change_json(*one.series, *one.change));
    }
  }
  for (const SiteSeries& one : state.series) {
    if (!one.suspected) continue;
    suspected.push_back({{"series", name_of(one)},
                         {"href", one.page()},
                         {"machine", machine_of(one)},
                         {"run", *one.suspected}});
  }
  return {{"up_to", newest},
          {"series", state.series.size()},
          {"recent", std::move(recent)},
          {"earlier", std::move(earlier)},
          {"earlier_count", earlier_count},
          {"suspected", std::move(suspected)}};
}

/// For the series from `first` to before `end` of the state.
Json machine_json(const SiteState& state, std::size_t first, std::size_t end) {
  Json columns = Json::object();
  for (const char* name :
       {"name", "metric", "href", "unit", "level", "low", "high", "values", "last_time", "spark", "change"})
    columns[name] = Json::array();
  for (std::size_t i = first; i < end; ++i) {
    const SiteSeries& one = state.series[i];
    columns["name"].push_back(visible(one.series.name));
    columns["metric"].push_back(visible(one.series.metric));
    columns["href"].push_back(one.page());
    columns["unit"].push_back(visible(one.series.unit));
    columns["level"].push_back(one.level);
    columns["low"].push_back(range_end(one.level_range, &SiteRange::low));
    columns["high"].push_back(range_end(one.level_range, &SiteRange::high));
    columns["values"].push_back(one.mark.values);
    columns["last_time"].push_back(one.last_time);
    columns["spark"].push_back(one.spark);
    columns["change"].push_back(one.changes.empty() ? Json(nullptr) : change_json(one, one.changes.back()));
  }
  return {{"count", end - first}, {"series", std::move(columns)}};
}

/// Bound the size of a page, however long the series is.
constexpr std::size_t kPoints = 1000, kSinglePoints = 300, kSamplesOfProcess = 200;

/// List of distinct commits, of which long series have few.
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

/// Stored by column, which takes a third of the space.
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

/// No point summarises values of two levels.
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

/// Takes every n-th value by size, to keep the distribution.
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

/// Escapes untrusted text for XML, and makes control characters visible.
std::string feed_text(const std::string& text) {
  std::string shown = markup_text(visible(text), " ");
  // Two characters that XML forbids: U+FFFE, U+FFFF.
  for (std::size_t at = 0; (at = shown.find("\xEF\xBF", at)) != std::string::npos; ++at) {
    if (shown[at + 2] == '\xBE' || shown[at + 2] == '\xBF') shown[at + 2] = '\xBD';
  }
  return shown;
}

std::string commit_text(const std::string& commit) {
  constexpr std::size_t kDigits = 12;
  return commit.empty() ? "-" : feed_text(commit.substr(0, kDigits));
}

/// Formats seconds since 1970 as in RFC 3339.
std::string feed_time(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr || parts.tm_year > 9999 - 1900) return "1970-01-01T00:00:00Z";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// Returns a name-based UUID of version 8, the form that RFC 9562 leaves to the program: equal for equal
/// text.
std::string urn_of(const std::string& text) {
  std::string digits = digest_of(text);
  digits[12] = '8';
  digits[16] = 'a';
  return fmt::format("urn:uuid:{}-{}-{}-{}-{}", digits.substr(0, 8), digits.substr(8, 4),
                     digits.substr(12, 4), digits.substr(16, 4), digits.substr(20));
}

std::string entry(const ChangeOfSeries& one) {
  const StoredSeries& series = one.series->series;
  const SiteChange& change = *one.change;
  const std::string title = feed_text(series.name + " " + series.metric) + ": " + change_words(change);
  std::string text = fmt::format("{} on machine {}, at run @{} of {} (UTC), commit {}", title,
                                 series.fingerprint.empty() ? "(unknown)" : feed_text(series.fingerprint),
                                 change.run, format_utc(change.time), commit_text(change.commit));
  if (change.run_before != 0)
    text += fmt::format("; before: run @{}, commit {}", change.run_before, commit_text(change.commit_before));
  const std::string id =
      urn_of(join(std::vector{series.identity, series.fingerprint, series.unit, change.key}, "\n"));
  return fmt::format(
      "  <entry>\n    <id>{}</id>\n    <title>{}</title>\n    <updated>{}</updated>\n"
      "    <link rel=\"alternate\" type=\"text/html\" href=\"{}\"/>\n"
      "    <content type=\"text\">{}.</content>\n  </entry>\n",
      id, title, feed_time(change.time), one.series->page(), text);
}

}  // namespace

Page site_index(const SiteState& state) {
  Page page{"Performance over time", "", {}};
  page.feed = "feed.xml";
  page.links = {{"feed", page.feed}};
  page.sections.push_back({"changes", "What changed", changes_json(state)});
  // The state is sorted by machine.
  for (std::size_t first = 0, end = 0; first < state.series.size(); first = end) {
    const SiteSeries& one = state.series[first];
    while (end < state.series.size() && state.series[end].series.fingerprint == one.series.fingerprint) ++end;
    page.sections.push_back({"machine", machine_of(one), machine_json(state, first, end)});
  }
  return page;
}

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

std::string site_feed(const SiteState& state) {
  constexpr std::size_t kEntries = 100;
  std::string feed = fmt::format(
      "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\">\n"
      "  <id>{}</id>\n  <title>Changes of performance</title>\n  <updated>{}</updated>\n"
      "  <author><name>headroom</name></author>\n"
      "  <generator version=\"{}\">headroom</generator>\n"
      "  <link rel=\"alternate\" type=\"text/html\" href=\"index.html\"/>\n",
      urn_of(state.feed), feed_time(newest_time(state)), feed_text(state.headroom));
  std::vector<ChangeOfSeries> changes = changes_of(state);
  if (changes.size() > kEntries) changes.resize(kEntries);
  for (const ChangeOfSeries& one : changes) feed += entry(one);
  return feed + "</feed>\n";
}

}  // namespace headroom
