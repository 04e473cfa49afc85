// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/history_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "headroom/report/interval_json.h"
#include "headroom/report/text_plot.h"

namespace headroom {
namespace {

std::string revision_text(const std::string& sha, const std::string& branch) {
  constexpr std::size_t kDigits = 12;
  if (sha.empty()) return "-";
  return sha.substr(0, kDigits) + (branch.empty() ? "" : " " + branch);
}

std::string machine_text(const std::string& fingerprint) {
  return fingerprint.empty() ? "(unknown)" : fingerprint;
}

/// Five digits, so that a change of a few tenths of a per cent stays visible.
std::string level_text(double value) {
  return fmt::format("{:.5g}", value);
}

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "-";
  return fmt::format("{} .. {}", level_text(interval->low), level_text(interval->high));
}

/// Whether the change that starts the segment is an improvement.
std::string verdict(const SeriesSegment& segment, Direction direction) {
  if (!segment.ratio) return "";
  return is_worse(*segment.ratio, direction) ? "worse" : "better";
}

std::string plot_text(const SeriesStory& story) {
  std::vector<PlotLine> lines;
  double low = story.values.front().value, high = low;
  for (std::size_t i = 0; i < story.segments.size(); ++i) {
    const SeriesSegment& segment = story.segments[i];
    PlotLine& line = lines.emplace_back(PlotLine{fmt::format("segment {}", i + 1), {}});
    for (std::size_t at = segment.first; at <= segment.last; ++at) {
      const double value = story.values[at].value;
      line.points.emplace_back(static_cast<double>(at + 1), value);
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  PlotOptions options;
  options.height = 12;
  options.log_x = false;
  // A linear axis starts at 0 and would hide changes of a few per cent.
  options.log_y = low > 0 && high < 2 * low;
  options.x_label = "value number, in the order of time";
  options.y_label = story.series.unit;
  return line_plot(lines, options);
}

Table segments_table(const SeriesStory& story) {
  const std::string unit = story.series.unit.empty() ? "" : ", " + story.series.unit;
  Table table({{"segment", Align::kRight},
               {"runs"},
               {"from (UTC)"},
               {"values", Align::kRight},
               {"median" + unit, Align::kRight},
               {"95 % interval"},
               {"change"},
               {""}});
  for (std::size_t i = 0; i < story.segments.size(); ++i) {
    const SeriesSegment& segment = story.segments[i];
    const StoredValue &first = story.values[segment.first], &last = story.values[segment.last];
    table.row({fmt::format("{}", i + 1), fmt::format("@{} .. @{}", first.run, last.run),
               format_utc(first.time), fmt::format("{}", segment.last - segment.first + 1),
               level_text(segment.median), interval_text(segment.interval),
               change_text(segment.ratio, segment.ratio_interval), verdict(segment, story.series.direction)});
    if (segment.drift) table.line("          " + drift_text(segment));
    for (const std::string& change : segment.changes) table.line("          " + change);
    if (i > 0 && segment.changes.empty())
      table.line("          nothing that the environment tells changed here");
  }
  return table;
}

Json segment_json(const SeriesStory& story, const SeriesSegment& segment) {
  Json json{{"first_run", story.values[segment.first].run},
            {"last_run", story.values[segment.last].run},
            {"first", segment.first},
            {"values", segment.last - segment.first + 1},
            {"median", segment.median},
            {"interval", interval_json(segment.interval)}};
  if (segment.drift) json["drift_ratio"] = *segment.drift;
  if (segment.ratio) {
    json["ratio"] = *segment.ratio;
    json["ratio_interval"] = interval_json(segment.ratio_interval);
    json["verdict"] = verdict(segment, story.series.direction);
    json["changes"] = segment.changes;
  }
  return json;
}

}  // namespace

std::string format_utc(std::uint64_t seconds) {
  if (seconds == 0) return "(unknown)";
  const auto time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  if (::gmtime_r(&time, &parts) == nullptr) return "(unknown)";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                     parts.tm_hour, parts.tm_min);
}

Table runs_table(const std::vector<StoredRun>& runs) {
  Table table({{"run", Align::kRight},
               {"time (UTC)"},
               {"machine", Align::kLeft, ""},
               {"git"},
               {"results", Align::kRight},
               {"command"}});
  for (const StoredRun& run : runs) {
    constexpr std::size_t kLongestCommand = 60;
    std::string command = run.command;
    if (command.size() > kLongestCommand) command = command.substr(0, kLongestCommand - 3) + "...";
    table.row({fmt::format("@{}", run.id), format_utc(run.time), machine_text(run.fingerprint),
               revision_text(run.git_sha, run.git_branch), fmt::format("{}", run.records), command});
  }
  return table;
}

Json runs_json(const std::vector<StoredRun>& runs) {
  Json list = Json::array();
  for (const StoredRun& run : runs) {
    list.push_back({{"id", run.id},
                    {"time", run.time},
                    {"fingerprint", run.fingerprint},
                    {"git_sha", run.git_sha},
                    {"git_branch", run.git_branch},
                    {"git_repo", run.git_repo},
                    {"headroom_version", run.headroom_version},
                    {"command", run.command},
                    {"records", run.records}});
  }
  return list;
}

Table series_table(std::span<const SeriesStory> stories) {
  Table table({{"series", Align::kRight},
               {"name"},
               {"metric"},
               {"unit"},
               {"machine", Align::kLeft, ""},
               {"values", Align::kRight},
               {"last (UTC)"},
               {"changed (UTC)"},
               {"by"}});
  for (const SeriesStory& story : stories) {
    const StoredSeries& one = story.series;
    std::vector<std::string> cells{fmt::format("{}", one.id),
                                   one.name,
                                   one.metric,
                                   one.unit,
                                   machine_text(one.fingerprint),
                                   fmt::format("{}", story.values.size()),
                                   story.values.empty() ? "-" : format_utc(story.values.back().time)};
    if (const auto change = last_change(story)) {
      cells.push_back(
          fmt::format("{}{} @{}", change->drifts ? "since " : "", format_utc(change->time), change->run));
      cells.push_back(last_change_text(story, *change));
    } else {
      const bool enough = change_critical(story.values.size(), ChangeLevel::kCertain).has_value();
      cells.insert(cells.end(), {enough ? "never" : "-", enough ? "" : "too few values"});
    }
    table.row(std::move(cells));
  }
  return table;
}

Json series_list_json(std::span<const SeriesStory> stories) {
  Json list = Json::array();
  for (const SeriesStory& story : stories) {
    const StoredSeries& one = story.series;
    const auto& values = story.values;
    Json json{{"id", one.id},
              {"name", one.name},
              {"metric", one.metric},
              {"unit", one.unit},
              {"fingerprint", one.fingerprint},
              {"identity", one.identity},
              {"values", values.size()},
              {"first_time", values.empty() ? 0 : values.front().time},
              {"last_time", values.empty() ? 0 : values.back().time},
              {"last_change", nullptr}};
    if (const auto change = last_change(story)) {
      Json told{{"run", change->run}, {"time", change->time}, {"drifts", change->drifts}};
      if (change->ratio) {
        told["ratio"] = *change->ratio;
        told["ratio_interval"] = interval_json(change->interval);
        told["verdict"] = change->worse ? "worse" : "better";
      }
      json["last_change"] = std::move(told);
    }
    list.push_back(std::move(json));
  }
  return list;
}

std::string change_text(const std::optional<double>& ratio, const std::optional<Interval>& interval) {
  if (!ratio) return "";
  const std::string change = fmt::format("{:+.1f} %", 100 * (*ratio - 1));
  if (!interval) return change;
  return fmt::format("{} ({:+.1f} .. {:+.1f})", change, 100 * (interval->low - 1),
                     100 * (interval->high - 1));
}

std::string drift_text(const SeriesSegment& segment) {
  return fmt::format("drifts by {:+.1f} % over {} values", 100 * (*segment.drift - 1),
                     segment.last - segment.first + 1);
}

namespace {

/// States whether the values changed, if there are enough to tell.
std::string changes_answer(const SeriesStory& story) {
  if (!change_critical(story.values.size(), ChangeLevel::kCertain)) {
    return fmt::format("{} value{} too few to tell a change from noise (14 are needed)", story.values.size(),
                       story.values.size() == 1 ? " is" : "s are");
  }
  const std::size_t changes = story.segments.size() - 1;
  const SeriesSegment& last = story.segments.back();
  std::string drift;
  if (last.drift) {
    drift = fmt::format("{}, {}", drift_text(last),
                        is_worse(*last.drift, story.series.direction) ? "worse" : "better");
  }
  if (changes == 0 && last.drift) return drift;
  if (changes == 0) return fmt::format("no change found in {} values", story.values.size());
  const std::string count = fmt::format("{} change{} found", changes, changes == 1 ? "" : "s");
  return fmt::format("{}, the last at @{} ({}): {} {}{}", count, story.values[last.first].run,
                     format_utc(story.values[last.first].time), change_text(last.ratio, last.ratio_interval),
                     verdict(last, story.series.direction), last.drift ? "; since then it " + drift : "");
}

Tone changes_tone(const SeriesStory& story) {
  if (!story.segments.empty() && story.segments.back().drift)
    return is_worse(*story.segments.back().drift, story.series.direction) ? Tone::kBad : Tone::kGood;
  if (story.segments.size() < 2) return Tone::kPlain;
  const std::string last = verdict(story.segments.back(), story.series.direction);
  if (last.empty()) return Tone::kPlain;
  return last == "worse" ? Tone::kBad : Tone::kGood;
}

}  // namespace

std::vector<std::string> series_answers(const SeriesStory& story) {
  if (story.values.empty()) return {"no value was measured"};
  std::vector<std::string> answers{changes_answer(story)};
  if (story.suspected) {
    const StoredValue &before = story.values[story.suspected->index - 1],
                      &first = story.values[story.suspected->index];
    answers.push_back(
        fmt::format("perhaps a change at @{} ({}), too early to tell: compare @{} with a new run", first.run,
                    format_utc(first.time), before.run));
  }
  return answers;
}

Sheet series_sheet(const SeriesStory& story) {
  const StoredSeries& series = story.series;
  Sheet sheet;
  const std::vector<std::string> answers = series_answers(story);
  sheet.answer(fmt::format("series {}: {}, {}: {}", series.id, series.name, series.metric, answers.front()),
               changes_tone(story));
  if (story.values.empty()) return sheet;
  if (answers.size() > 1) sheet.answer(answers.back());
  sheet.drawing(plot_text(story)).table(segments_table(story));
  for (const SpreadChange& spread : story.spreads) {
    const StoredValue& first = story.values[spread.index];
    sheet.notes(fmt::format("spread {:.2g} times what it was before from @{} ({}) on\n", spread.ratio,
                            first.run, format_utc(first.time)),
                Tone::kPlain);
  }
  return sheet.notes(fmt::format("machine {}, {} is better\n",
                                 series.fingerprint.empty() ? "(unknown)" : series.fingerprint,
                                 series.direction == Direction::kLowerIsBetter ? "lower" : "higher"));
}

Json series_json(const SeriesStory& story) {
  const StoredSeries& series = story.series;
  Json json{{"id", series.id},
            {"name", series.name},
            {"metric", series.metric},
            {"unit", series.unit},
            {"direction", series.direction == Direction::kLowerIsBetter ? "lower" : "higher"},
            {"fingerprint", series.fingerprint},
            {"identity", series.identity}};
  Json values = Json::array();
  for (const StoredValue& value : story.values) {
    values.push_back({{"run", value.run},
                      {"time", value.time},
                      {"value", value.value},
                      {"interval", interval_json(value.interval)},
                      {"samples", value.samples},
                      {"git_sha", value.git_sha},
                      {"headroom_version", value.headroom_version}});
  }
  Json segments = Json::array();
  for (const SeriesSegment& segment : story.segments) segments.push_back(segment_json(story, segment));
  Json spreads = Json::array();
  for (const SpreadChange& spread : story.spreads) {
    const StoredValue& first = story.values[spread.index];
    spreads.push_back({{"run", first.run}, {"time", first.time}, {"ratio", spread.ratio}});
  }
  json["values"] = std::move(values);
  json["spread_changes"] = std::move(spreads);
  json["segments"] = std::move(segments);
  json["suspected_at_run"] = story.suspected ? Json(story.values[story.suspected->index].run) : Json(nullptr);
  return json;
}

}  // namespace headroom
