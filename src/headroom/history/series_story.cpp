// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/series_story.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/compare/environment_differences.h"
#include "headroom/history/history_table.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::vector<double> numbers_of(const std::vector<StoredValue>& values) {
  std::vector<double> numbers;
  for (const StoredValue& value : values) numbers.push_back(value.value);
  return numbers;
}

/// Returns a line for each change: "git revision: c0ffee -> 0ddba11".
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

/// Most series that a sentence names.
constexpr std::size_t kNamed = 3;

/// "a; b; c; and 4 more".
std::string named(std::vector<std::string> texts) {
  if (texts.size() > kNamed) {
    const std::size_t more = texts.size() - kNamed;
    texts.resize(kNamed);
    texts.push_back(fmt::format("and {} more", more));
  }
  return join(texts, "; ");
}

std::string series_change(const SeriesStory& story, const LastChange& change) {
  return fmt::format("{} {}{} {}", story.series.name, story.series.metric,
                     change.drifts ? "" : fmt::format(" at @{},", change.run),
                     last_change_text(story, change));
}

using Changed = std::pair<const SeriesStory*, LastChange>;

std::vector<Changed> changed_series(std::span<const SeriesStory> stories) {
  std::vector<Changed> changed;
  for (const SeriesStory& story : stories) {
    if (const auto change = last_change(story)) changed.emplace_back(&story, *change);
  }
  std::ranges::stable_sort(changed, std::greater<>(), [](const Changed& one) { return one.second.time; });
  return changed;
}

std::vector<std::string> texts_of(const std::vector<Changed>& changed) {
  std::vector<std::string> texts;
  for (const auto& [story, change] : changed) texts.push_back(series_change(*story, change));
  return texts;
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

std::optional<LastChange> last_change(const SeriesStory& story) {
  if (story.segments.empty()) return std::nullopt;
  const SeriesSegment& last = story.segments.back();
  if (!last.drift && story.segments.size() == 1) return std::nullopt;
  const StoredValue& first = story.values[last.first];
  LastChange change{first.run, first.time, last.last - last.first + 1, last.drift.has_value(), {}, {}, false};
  if (last.drift) {
    change.ratio = last.drift;
    change.values_since = 1;
  } else {
    change.ratio = last.ratio;
    change.interval = last.ratio_interval;
  }
  change.worse = change.ratio && is_worse(*change.ratio, story.series.direction);
  return change;
}

std::string last_change_text(const SeriesStory& story, const LastChange& change) {
  const std::string how =
      change.drifts ? drift_text(story.segments.back()) + "," : change_text(change.ratio, change.interval);
  if (!change.ratio) return "from 0";
  return how + (change.worse ? " worse" : " better");
}

std::string changes_sentence(std::span<const SeriesStory> stories) {
  const std::vector<Changed> changed = changed_series(stories);
  const auto too_short = std::ranges::count_if(stories, [](const SeriesStory& story) {
    return !change_critical(story.values.size(), ChangeLevel::kCertain).has_value();
  });
  const auto all = static_cast<std::ptrdiff_t>(stories.size());
  if (changed.empty() && too_short == all)
    return fmt::format("none of {} series has the 14 values that it takes to tell a change from noise", all);
  if (changed.empty()) {
    return fmt::format(
        "none of {} series changed{}", all,
        too_short == 0 ? ""
                       : fmt::format("; {} have fewer than the 14 values that it takes to tell", too_short));
  }
  return fmt::format("{} of {} series changed: {}", changed.size(), stories.size(), named(texts_of(changed)));
}

RegressionAnswer regression_answer(std::span<const SeriesStory> stories, std::size_t newest) {
  std::vector<Changed> worse = changed_series(stories);
  std::erase_if(
      worse, [newest](const Changed& one) { return !one.second.worse || one.second.values_since > newest; });
  if (!worse.empty()) {
    return {ExitCode::kNo, fmt::format("{} of {} series became worse within the last {} values: {}",
                                       worse.size(), stories.size(), newest, named(texts_of(worse)))};
  }
  const bool any_long = std::ranges::any_of(stories, [](const SeriesStory& story) {
    return change_critical(story.values.size(), ChangeLevel::kCertain).has_value();
  });
  if (!any_long)
    return {ExitCode::kInconclusive, "no series has the 14 values that it takes to tell a change from noise"};
  return {ExitCode::kFine,
          fmt::format("none of {} series became worse within the last {} values", stories.size(), newest)};
}

}  // namespace headroom
