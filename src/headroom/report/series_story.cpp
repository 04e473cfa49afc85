// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/series_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "headroom/compare/environment_differences.h"
#include "headroom/report/bandwidth_plot.h"
#include "headroom/report/history_table.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::vector<double> numbers_of(const std::vector<StoredValue>& values) {
  std::vector<double> numbers;
  for (const StoredValue& value : values) numbers.push_back(value.value);
  return numbers;
}

/// "git revision: c0ffee -> 0ddba11", a line for each.
std::vector<std::string> environment_changes(Environment before, Environment after) {
  Record old_record, new_record;
  old_record.environment = std::make_shared<const Environment>(std::move(before));
  new_record.environment = std::make_shared<const Environment>(std::move(after));
  std::vector<std::string> lines;
  for (const EnvironmentDifference& difference :
       environment_differences({&old_record, 1}, {&new_record, 1}).list) {
    lines.push_back(fmt::format("{}: {} -> {}", difference.what, difference.baseline, difference.test));
  }
  return lines;
}

void compare_with_previous(std::span<const double> before, std::span<const double> after,
                           SeriesSegment& segment) {
  const double base = median(before);
  if (base == 0) return;
  segment.ratio = segment.median / base;
  const auto positive = [](double value) { return value > 0; };
  if (std::ranges::all_of(before, positive) && std::ranges::all_of(after, positive)) {
    segment.ratio_interval = unpaired_ratio(after, before).interval;
  }
}

/// Five digits: a change of a few tenths of a per cent must not vanish in rounding.
std::string level_text(double value) {
  return fmt::format("{:.5g}", value);
}

std::string interval_text(const std::optional<Interval>& interval) {
  if (!interval) return "-";
  return fmt::format("{} .. {}", level_text(interval->low), level_text(interval->high));
}

std::string ratio_text(const SeriesSegment& segment) {
  if (!segment.ratio) return "";
  const std::string change = fmt::format("{:+.1f} %", 100 * (*segment.ratio - 1));
  if (!segment.ratio_interval) return change;
  return fmt::format("{} ({:+.1f} .. {:+.1f})", change, 100 * (segment.ratio_interval->low - 1),
                     100 * (segment.ratio_interval->high - 1));
}

/// Whether the change that begins the segment is good news.
std::string verdict(const SeriesSegment& segment, Direction direction) {
  if (!segment.ratio) return "";
  const bool better = (*segment.ratio < 1) == (direction == Direction::kLowerIsBetter);
  return better ? "better" : "worse";
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
               level_text(segment.median), interval_text(segment.interval), ratio_text(segment),
               verdict(segment, story.series.direction)});
    for (const std::string& change : segment.changes) table.line("          " + change);
    if (i > 0 && segment.changes.empty())
      table.line("          nothing that the environment tells changed here");
  }
  return table;
}

Json interval_json(const std::optional<Interval>& interval) {
  if (!interval) return nullptr;
  return {{"low", interval->low}, {"high", interval->high}, {"confidence", interval->confidence}};
}

Json segment_json(const SeriesStory& story, const SeriesSegment& segment) {
  Json json{{"first_run", story.values[segment.first].run},
            {"last_run", story.values[segment.last].run},
            {"first", segment.first},
            {"values", segment.last - segment.first + 1},
            {"median", segment.median},
            {"interval", interval_json(segment.interval)}};
  if (segment.ratio) {
    json["ratio"] = *segment.ratio;
    json["ratio_interval"] = interval_json(segment.ratio_interval);
    json["verdict"] = verdict(segment, story.series.direction);
    json["changes"] = segment.changes;
  }
  return json;
}

}  // namespace

SeriesStory series_story(StoredSeries series, std::vector<StoredValue> values,
                         const std::function<Environment(std::int64_t)>& environment_of) {
  SeriesStory story{std::move(series), std::move(values), {}, {}};
  if (story.values.empty()) return story;
  const std::vector<double> numbers = numbers_of(story.values);
  const std::vector<ChangePoint> changes = change_points(numbers);
  story.suspected = suspected_change(numbers, changes);
  std::vector<std::size_t> starts{0};
  for (const ChangePoint& change : changes) starts.push_back(change.index);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    SeriesSegment segment;
    segment.first = starts[i];
    segment.last = (i + 1 < starts.size() ? starts[i + 1] : numbers.size()) - 1;
    const auto part = std::span(numbers).subspan(segment.first, segment.last - segment.first + 1);
    segment.median = median(part);
    segment.interval = series_median_interval(part);
    if (i > 0) {
      compare_with_previous(std::span(numbers).subspan(starts[i - 1], starts[i] - starts[i - 1]), part,
                            segment);
      segment.changes = environment_changes(environment_of(story.values[segment.first - 1].run),
                                            environment_of(story.values[segment.first].run));
    }
    story.segments.push_back(std::move(segment));
  }
  return story;
}

std::string series_text(const SeriesStory& story, std::size_t width) {
  const StoredSeries& series = story.series;
  std::string text = fmt::format("series {}: {}, {}\nmachine {}, {} is better\n", series.id, series.name,
                                 series.metric, series.fingerprint.empty() ? "(unknown)" : series.fingerprint,
                                 series.direction == Direction::kLowerIsBetter ? "lower" : "higher");
  if (story.values.empty()) return text + "no value was measured\n";
  text += "\n" + plot_text(story) + "\n" + segments_table(story).text(width);
  const std::size_t changes = story.segments.size() - 1;
  if (!change_critical(story.values.size(), ChangeLevel::kCertain)) {
    text += fmt::format("{} values are too few to tell a change from noise (14 are needed)\n",
                        story.values.size());
  } else {
    text += changes == 0 ? "no change found\n"
                         : fmt::format("{} change{} found\n", changes, changes == 1 ? "" : "s");
  }
  if (story.suspected) {
    const StoredValue &before = story.values[story.suspected->index - 1],
                      &first = story.values[story.suspected->index];
    text += fmt::format("perhaps a change at @{} ({}), too early to tell: compare @{} with a new run\n",
                        first.run, format_utc(first.time), before.run);
  }
  return text;
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
  json["values"] = std::move(values);
  json["segments"] = std::move(segments);
  json["suspected_at_run"] = story.suspected ? Json(story.values[story.suspected->index].run) : Json(nullptr);
  return json;
}

}  // namespace headroom
