// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/site/site.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <ctime>
#include <functional>
#include <map>
#include <set>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/history/run_text.h"
#include "headroom/history/series_analysis.h"
#include "headroom/record/metric_direction.h"
#include "headroom/record/record_json.h"
#include "headroom/stats/changepoint.h"
#include "headroom_pages/site/site_state.h"

namespace headroom {
namespace {

/// By index of the value.
using SamplesOfValues = std::map<std::size_t, StoredSamples>;

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
          {"worse", series.series.direction == Direction::kUnknown ? Json(nullptr) : Json(change.worse)}};
}

/// Fewer values cannot show a change.
std::size_t needed_values() {
  std::size_t count = 1;
  while (!change_critical(count, ChangeLevel::kCertain)) ++count;
  return count;
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
  const std::size_t needed = needed_values();
  const auto too_short = std::ranges::count_if(
      state.series, [needed](const SiteSeries& one) { return one.mark.values < needed; });
  return {{"up_to", newest},
          {"series", state.series.size()},
          {"needed", needed},
          {"too_short", too_short},
          {"recent", std::move(recent)},
          {"earlier", std::move(earlier)},
          {"earlier_count", earlier_count},
          {"suspected", std::move(suspected)}};
}

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
  return {{"count", end - first}, {"needed", needed_values()}, {"series", std::move(columns)}};
}

/// Limits on the size of a page.
constexpr std::size_t kPoints = 1000, kSinglePoints = 300, kSamplesOfProcess = 200;

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

/// By column, which takes a third of the space.
void add_points(const SeriesAnalysis& analysis, const std::vector<SitePoint>& points, Json& json) {
  std::vector<std::int64_t> runs;
  std::vector<std::uint64_t> times;
  std::vector<std::size_t> counts, commits;
  std::vector<double> values;
  Json low = Json::array(), high = Json::array();
  Commits known;
  for (const SitePoint& point : points) {
    const StoredValue& first = analysis.values[point.first];
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

Json levels_json(const SeriesAnalysis& analysis, const std::vector<SitePoint>& points) {
  Json levels = Json::array();
  std::size_t at = 0;
  for (const SeriesSegment& segment : analysis.segments) {
    const std::size_t first_point = at;
    while (at < points.size() && points[at].last <= segment.last) ++at;
    const StoredValue& first = analysis.values[segment.first];
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
                      {"worse", analysis.series.direction == Direction::kUnknown
                                    ? Json(nullptr)
                                    : Json(ratio && is_worse(*ratio, analysis.series.direction))},
                      {"changes", std::move(changes)}});
  }
  return levels;
}

/// Keeps evenly spaced order statistics.
std::vector<double> thinned(std::vector<double> values) {
  if (values.size() <= kSamplesOfProcess) return values;
  std::ranges::sort(values);
  std::vector<double> kept;
  for (std::size_t i = 0; i < kSamplesOfProcess; ++i)
    kept.push_back(values[i * (values.size() - 1) / (kSamplesOfProcess - 1)]);
  return kept;
}

Json samples_json(const SeriesAnalysis& analysis, const SamplesOfValues& samples) {
  Json list = Json::array();
  for (auto one = samples.rbegin(); one != samples.rend(); ++one) {
    const StoredValue& value = analysis.values[one->first];
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

/// Escapes untrusted text for XML.
std::string feed_text(const std::string& text) {
  std::string shown = markup_text(visible(text), " ");
  // XML forbids U+FFFE and U+FFFF.
  for (std::size_t at = 0; (at = shown.find("\xEF\xBF", at)) != std::string::npos; ++at) {
    if (shown[at + 2] == '\xBE' || shown[at + 2] == '\xBF') shown[at + 2] = '\xBD';
  }
  return shown;
}

std::string commit_text(const std::string& commit) {
  constexpr std::size_t kDigits = 12;
  return commit.empty() ? "-" : feed_text(commit.substr(0, kDigits));
}

/// As in RFC 3339.
std::string feed_time(std::uint64_t seconds) {
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr || parts.tm_year > 9999 - 1900) return "1970-01-01T00:00:00Z";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

/// A name-based UUID of version 8 (RFC 9562).
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
  const std::string title =
      feed_text(series.name + " " + series.metric) + ": " + site_change_text(change, series.direction);
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

/// The first page: recent changes, then all series by machine. Data of its sections:
///
/// changes (assets/sections/changes.js): "needed" is the fewest values that can show a change, "too_short"
/// counts series with fewer. Of a change: "since" counts the values from it on; "ratio", "low", "high" are
/// after to before, null from 0; "worse" is null if unknown.
/// machine (assets/sections/machine.js), one for each: series by column; "spark": medians of parts, in order.
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

/// The page of a series. Data of its section (assets/sections/series.js): "singles" newest values have a
/// point each (null: all); "points" by column: median, minimum and maximum of several "values", "commit"
/// indexes "commits"; "levels": "first" and "last" index points; "suspected": run of a possible change, or
/// null; "samples", newest first: "problem": why they cannot be read, or empty.
Page site_series_page(const SeriesAnalysis& analysis, const SiteSeries& summary,
                      const SamplesOfValues& samples) {
  const StoredSeries& series = analysis.series;
  const std::vector<SitePoint> points = site_points(analysis, kPoints, kSinglePoints);
  Json answers = Json::array();
  for (const std::string& answer : series_answers(analysis)) answers.push_back(visible(answer));
  Json data{{"answers", std::move(answers)},
            {"name", visible(series.name)},
            {"metric", visible(series.metric)},
            {"unit", visible(series.unit)},
            {"machine", visible(series.fingerprint)},
            {"lower_is_better", lower_is_better(series.direction)},
            {"values", summary.mark.values},
            {"singles", analysis.values.size() > kPoints ? Json(kSinglePoints) : Json(nullptr)}};
  add_points(analysis, points, data);
  data["levels"] = levels_json(analysis, points);
  data["suspected"] = summary.suspected ? Json(*summary.suspected) : Json(nullptr);
  data["samples"] = samples_json(analysis, samples);
  const std::string title = visible(series.name + " " + series.metric);
  Page page{title, "", {}};
  page.feed = "../feed.xml";
  page.links = {{"all series", "../index.html"}};
  page.sections.push_back({"series", title, std::move(data)});
  return page;
}

/// An Atom feed (RFC 4287).
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

struct SitePlan {
  std::vector<SiteSeries> changed;  ///< with the data known before
  std::vector<SiteSeries> kept, gone;
};

constexpr std::size_t kNewestValues = 30, kChanges = 10, kBesideChange = 2;

bool is_same(const StoredSeries& a, const StoredSeries& b) {
  const auto key = [](const StoredSeries& one) {
    return std::tie(one.id, one.identity, one.fingerprint, one.unit, one.name, one.metric, one.direction);
  };
  return key(a) == key(b);
}

namespace fs = std::filesystem;

/// Locks until the process ends. Returns -1 and sets errno on failure.
int lock_folder(const fs::path& folder, std::chrono::seconds patience) {
  const int file = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return -1;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (::flock(file, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || std::chrono::steady_clock::now() > deadline) {
      const int why = errno;
      ::close(file);
      errno = why;
      return -1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return file;
}

bool holds(const fs::path& file, const std::string& content) {
  std::error_code error;
  return fs::is_regular_file(file, error) && fs::file_size(file, error) == content.size() &&
         read_file(file) == content;
}

std::set<std::string> pages_of(const SiteState& state) {
  std::set<std::string> pages{"index.html", "feed.xml"};
  pages.insert(state.assets.begin(), state.assets.end());
  for (const SiteSeries& one : state.series) pages.insert(one.page());
  return pages;
}

/// While writing, the site owns old and new pages, all outdated.
SiteState announced(const SiteState& state, const SitePlan& plan,
                    const std::vector<std::string>& assets_before) {
  SiteState all = state;
  all.assets.insert(all.assets.end(), assets_before.begin(), assets_before.end());
  for (const std::vector<SiteSeries>* part : {&plan.changed, &plan.gone}) {
    for (const SiteSeries& one : *part) {
      all.series.push_back(one);
      all.series.back().mark = {};
    }
  }
  all.series.insert(all.series.end(), plan.kept.begin(), plan.kept.end());
  return all;
}

/// All functions throw Error.
class SeriesReader {
 public:
  SeriesReader(Store& store, double least) : store_(store), least_(least) {}

  SeriesAnalysis analysis(const StoredSeries& series) {
    return series_analysis(
        series, store_.values(series.id), [this](std::int64_t run) { return environment(run); }, least_);
  }
  /// Of the newest values and of those around changes.
  SamplesOfValues samples(const SeriesAnalysis& analysis) {
    SamplesOfValues samples;
    const std::size_t count = analysis.values.size();
    if (count == 0) return samples;
    const std::size_t newest = count - std::min(count, kNewestValues);
    add_samples(analysis, newest, count, samples);
    std::size_t shown = 0;
    for (std::size_t i = analysis.segments.size() - 1; i > 0 && shown < kChanges; --i, ++shown) {
      const std::size_t at = analysis.segments[i].first;
      const std::size_t first = at - std::min(at, kBesideChange), end = std::min(at + kBesideChange, newest);
      if (first < end) add_samples(analysis, first, end, samples);
    }
    return samples;
  }

 private:
  void add_samples(const SeriesAnalysis& analysis, std::size_t first, std::size_t end,
                   SamplesOfValues& samples) {
    const auto is_of_run = [&](std::size_t at, std::size_t like) {
      return analysis.values[at].run == analysis.values[like].run &&
             analysis.values[at].time == analysis.values[like].time;
    };
    while (first > 0 && is_of_run(first - 1, first)) --first;
    for (StoredSamples& one :
         store_.samples(analysis.series.id, analysis.values[first], analysis.values[end - 1]))
      samples[first++] = std::move(one);
  }
  Environment environment(std::int64_t run) {
    const auto found = environments_.find(run);
    return found != environments_.end() ? found->second
                                        : environments_.emplace(run, store_.environment(run)).first->second;
  }

  Store& store_;
  double least_;
  /// Many series change at the same run.
  std::map<std::int64_t, Environment> environments_;
};

/// Locked against other processes. Never touches foreign files. All functions throw Error naming the file.
class SiteFolder {
 public:
  /// Creates a missing directory; waits up to a minute for another writer.
  explicit SiteFolder(const fs::path& path) : path_(resolve_output_path(path)) {
    std::error_code error;
    if (!fs::exists(path_, error)) fs::create_directories(path_, error);
    if (error) throw Error("cannot make the folder " + quote(path_.string()) + ": " + error.message());
    constexpr std::chrono::seconds kServerTimeout{60};
    lock_ = lock_folder(path_, kServerTimeout);
    if (lock_ < 0) {
      if (errno == EWOULDBLOCK)
        throw Error(quote(path_.string()) +
                    " is still being written by another headroom; try again when it is done");
      throw Error("cannot use " + quote(path_.string()) + " as the folder of a site: " +
                  std::generic_category().message(errno) + "; name another one");
    }
    try {
      state_ = read_site_state(path_);
    } catch (...) {
      ::close(lock_);
      throw;
    }
  }
  ~SiteFolder() { ::close(lock_); }
  SiteFolder(const SiteFolder&) = delete;
  SiteFolder& operator=(const SiteFolder&) = delete;

  const std::optional<SiteState>& state() const { return state_; }
  /// `page`: path below the directory ("series/7.html").
  bool has(const std::string& page) const {
    std::error_code error;
    return fs::is_regular_file(fs::symlink_status(path_ / page, error));
  }

  /// Call first, with all old and new pages. Throws Error if a foreign file has the name of a new page.
  void announce(const SiteState& state) {
    const std::set<std::string> ours = state_ ? pages_of(*state_) : std::set<std::string>{};
    announced_ = pages_of(state);
    std::error_code error;
    for (const char* name : {"assets", "series"}) {
      const fs::file_status folder = fs::symlink_status(path_ / name, error);
      if (!fs::exists(folder) || fs::is_directory(folder)) continue;
      throw Error(quote((path_ / name).string()) +
                  " is not a folder, but pages are written there; move it away, or name another folder");
    }
    for (const std::string& page : announced_) {
      const fs::file_status status = fs::symlink_status(path_ / page, error);
      if (!fs::exists(status) || (ours.contains(page) && fs::is_regular_file(status))) continue;
      throw Error(
          quote((path_ / page).string()) +
          " was not written by headroom, and a page has that name; move it away, or name another folder");
    }
    write_site_state(path_, state);
  }
  /// Returns whether the page changed.
  bool write(const std::string& page, const std::string& content) {
    if (holds(path_ / page, content)) return false;
    make_folders_above(path_ / page);
    write_file_atomically(path_ / page, content);
    return true;
  }
  /// Call last: removes announced pages that left the site.
  void finish(const SiteState& state) {
    const std::set<std::string> kept = pages_of(state);
    for (const std::string& page : announced_) {
      if (kept.contains(page)) continue;
      std::error_code error;
      fs::remove(path_ / page, error);
      if (error) throw Error("cannot remove " + quote((path_ / page).string()) + ": " + error.message());
    }
    write_site_state(path_, state);
  }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
  std::optional<SiteState> state_;
  std::set<std::string> announced_;
};

std::size_t write_series(Store& store, SiteFolder& folder, std::vector<SiteSeries> changed,
                         SiteState& state) {
  std::size_t written = 0;
  SeriesReader reader(store, state.least_change);
  for (SiteSeries& one : changed) {
    const SeriesAnalysis analysis = reader.analysis(one.series);
    one = site_summary(analysis, one.mark, one.changes);
    const Page page = site_series_page(analysis, one, reader.samples(analysis));
    if (folder.write(one.page(), linked_page_html(page, "../"))) ++written;
    state.series.push_back(std::move(one));
  }
  return written;
}

bool has_same_rules(const SiteState& before, const SiteState& now) {
  return before.headroom == now.headroom && before.store == now.store && before.assets == now.assets &&
         before.least_change == now.least_change;
}

/// `is_current`: whether the page of an unchanged series is up to date.
SitePlan site_plan(Store& store, std::vector<SiteSeries> known,
                   const std::function<bool(const SiteSeries&)>& is_current) {
  std::map<std::int64_t, SeriesDigest> series_digests;
  for (const SeriesDigest& mark : store.series_digests()) series_digests[mark.series] = mark;
  std::map<std::int64_t, SiteSeries> before;
  for (SiteSeries& one : known) before[one.series.id] = std::move(one);
  SitePlan plan;
  for (StoredSeries& series : store.series()) {
    const auto mark = series_digests.find(series.id);
    if (mark == series_digests.end()) continue;
    SiteSeries one;
    if (const auto old = before.find(series.id); old != before.end()) {
      one = std::move(old->second);
      before.erase(old);
    }
    if (!is_same(one.series, series)) {
      one.changes.clear();
    } else if (one.mark == mark->second && is_current(one)) {
      plan.kept.push_back(std::move(one));
      continue;
    }
    one.series = std::move(series);
    one.mark = mark->second;
    plan.changed.push_back(std::move(one));
  }
  for (auto& [id, one] : before) plan.gone.push_back(std::move(one));
  return plan;
}

void sort_series(std::vector<SiteSeries>& series) {
  std::ranges::sort(series, {}, [](const SiteSeries& one) {
    return std::tie(one.series.fingerprint, one.series.name, one.series.metric, one.series.id);
  });
}

}  // namespace

SiteResult write_site(Store& store, const std::filesystem::path& path, double least) {
  SiteFolder folder(path);
  const auto has = [&folder](const std::string& file) { return folder.has(file); };
  const SiteState before = folder.state().value_or(SiteState{});
  // Hides the location of the history.
  const std::string name = digest_of(store.name());
  SiteState state{HEADROOM_VERSION, name, before.feed.empty() ? name : before.feed, least, {}, {}};
  for (const PageFile& file : page_files()) state.assets.push_back(file.name);
  const bool all = !has_same_rules(before, state) || !has("index.html") || !has("feed.xml") ||
                   !std::ranges::all_of(state.assets, has);
  SiteResult result;
  store.read_snapshot([&] {
    SitePlan plan =
        site_plan(store, before.series, [&](const SiteSeries& one) { return !all && has(one.page()); });
    result = {plan.kept.size() + plan.changed.size(), 0, plan.gone.size()};
    if (!all && plan.changed.empty() && plan.gone.empty()) return;
    folder.announce(announced(state, plan, before.assets));
    for (const PageFile& file : page_files()) folder.write(file.name, std::string(file.content));
    state.series = std::move(plan.kept);
    result.written = write_series(store, folder, std::move(plan.changed), state);
    sort_series(state.series);
    folder.write("index.html", linked_page_html(site_index(state), ""));
    folder.write("feed.xml", site_feed(state));
    folder.finish(state);
  });
  return result;
}

LiveSite::LiveSite(std::string store, double least, StoreWaiting waiting)
    : store_(std::move(store)), waiting_(std::move(waiting)), state_(std::make_unique<SiteState>()) {
  state_->headroom = HEADROOM_VERSION;
  state_->least_change = least;
}
LiveSite::~LiveSite() = default;

bool LiveSite::refresh() {
  const auto store = open_store(store_, StoreAccess::kRead, waiting_);
  bool is_new = false;
  store->read_snapshot([&] {
    std::string stamp = store->stamp();
    if (stamp == stamp_) return;
    is_new = true;
    state_->feed = digest_of(store->name());
    SitePlan plan = site_plan(*store, state_->series, [](const SiteSeries&) { return true; });
    SeriesReader reader(*store, state_->least_change);
    std::vector<SiteSeries> series = std::move(plan.kept);
    for (const SiteSeries& one : plan.changed)
      series.push_back(site_summary(reader.analysis(one.series), one.mark, one.changes));
    sort_series(series);
    state_->series = std::move(series);
    stamp_ = std::move(stamp);
  });
  return is_new;
}

Page LiveSite::index() const {
  return site_index(*state_);
}

std::string LiveSite::feed() const {
  return site_feed(*state_);
}

std::optional<Page> LiveSite::series_page(std::int64_t series) const {
  const auto one =
      std::ranges::find(state_->series, series, [](const SiteSeries& each) { return each.series.id; });
  if (one == state_->series.end()) return std::nullopt;
  const auto store = open_store(store_, StoreAccess::kRead, waiting_);
  std::optional<Page> page;
  store->read_snapshot([&] {
    SeriesReader reader(*store, state_->least_change);
    const SeriesAnalysis analysis = reader.analysis(one->series);
    // A value may have arrived since the summary was read.
    SeriesDigest mark = one->mark;
    mark.values = analysis.values.size();
    page = site_series_page(analysis, site_summary(analysis, mark, one->changes), reader.samples(analysis));
  });
  return page;
}

}  // namespace headroom
