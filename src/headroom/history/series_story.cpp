// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/series_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>

#include "headroom/compare/environment_differences.h"
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

}  // namespace

SeriesStory series_story(StoredSeries series, std::vector<StoredValue> values,
                         const std::function<Environment(std::int64_t)>& environment_of, double least) {
  SeriesStory story{std::move(series), std::move(values), {}, {}, {}};
  if (story.values.empty()) return story;
  const std::vector<double> numbers = numbers_of(story.values);
  const std::vector<ChangePoint> changes = change_points(numbers);
  story.suspected = suspected_change(numbers, changes);
  const std::vector<SeriesPart> parts = parts_that_differ(numbers, changes, least);
  story.spreads = spread_changes(numbers, parts);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SeriesSegment segment;
    segment.first = parts[i].begin;
    segment.last = parts[i].end - 1;
    const auto part = std::span(numbers).subspan(parts[i].begin, parts[i].end - parts[i].begin);
    segment.median = median(part);
    segment.interval = series_median_interval(part);
    if (parts[i].drifts && parts[i].first != 0) segment.drift = parts[i].last / parts[i].first;
    if (i > 0) {
      compare_with_previous(
          std::span(numbers).subspan(parts[i - 1].begin, parts[i - 1].end - parts[i - 1].begin), part,
          segment);
      if (environment_of) {
        segment.changes = environment_changes(environment_of(story.values[segment.first - 1].run),
                                              environment_of(story.values[segment.first].run));
      }
    }
    story.segments.push_back(std::move(segment));
  }
  return story;
}

bool is_worse(double ratio, Direction direction) {
  return (ratio > 1) == (direction == Direction::kLowerIsBetter);
}

}  // namespace headroom
