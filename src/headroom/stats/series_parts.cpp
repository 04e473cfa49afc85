// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/series_parts.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "headroom/stats/autocorrelation.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

SeriesPart level_part(std::span<const double> values, std::size_t begin, std::size_t end) {
  const double level = median(values.subspan(begin, end - begin));
  return {begin, end, level, false, level, level};
}

/// Of every so manieth value of a part there are at most this many, where pairs are looked at.
constexpr std::size_t kMostInPairs = 300;

std::size_t step_of(std::size_t count) {
  return 1 + (count - 1) / kMostInPairs;
}

/// The line of Theil and Sen. Of long parts the slopes between every second, third, ... value.
SeriesPart line_part(std::span<const double> values, std::size_t begin, std::size_t end) {
  const std::size_t step = step_of(end - begin);
  std::vector<double> slopes, offsets;
  for (std::size_t i = begin; i < end; i += step) {
    for (std::size_t j = i + step; j < end; j += step)
      slopes.push_back((values[j] - values[i]) / static_cast<double>(j - i));
  }
  const double slope = median(slopes);
  for (std::size_t i = begin; i < end; ++i)
    offsets.push_back(values[i] - slope * static_cast<double>(i - begin));
  const double first = median(offsets);
  return {begin, end,   median(values.subspan(begin, end - begin)),
          true,  first, first + slope * static_cast<double>(end - begin - 1)};
}

double distance_from(std::span<const double> values, const SeriesPart& part) {
  double sum = 0;
  for (std::size_t i = part.begin; i < part.end; ++i) sum += std::abs(values[i] - part.at(i));
  return sum;
}

/// The line through `parts`, where it fits better than they do and all of them go its way.
std::optional<SeriesPart> drift_through(std::span<const double> values, std::span<const SeriesPart> parts) {
  const bool rises = parts[1].level > parts[0].level;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].level == parts[i - 1].level || (parts[i].level > parts[i - 1].level) != rises)
      return std::nullopt;
  }
  const SeriesPart line = line_part(values, parts.front().begin, parts.back().end);
  if (line.last == line.first || (line.last > line.first) != rises) return std::nullopt;
  double of_levels = 0;
  for (const SeriesPart& part : parts) of_levels += distance_from(values, part);
  // Of normal noise each parameter takes off about half of 1/n of the sum; a step has a level and a place,
  // which counts for three, as it is the best of many.
  const double n = static_cast<double>(line.end - line.begin);
  const double level_parameters = 4 * static_cast<double>(parts.size()) - 3;
  const double levels = of_levels / std::max(0.1, 1 - level_parameters / (2 * n));
  return distance_from(values, line) / (1 - 1 / n) < levels ? std::optional(line) : std::nullopt;
}

/// z of Mann and Kendall: how many more pairs rise than fall; not corrected.
double trend_z(std::span<const double> values, const SeriesPart& part) {
  const std::size_t step = step_of(part.end - part.begin);
  double rising = 0, n = 0;
  for (std::size_t i = part.begin; i < part.end; i += step) {
    ++n;
    for (std::size_t j = i + step; j < part.end; j += step)
      rising += values[j] > values[i] ? 1 : values[j] < values[i] ? -1 : 0;
  }
  return std::abs(rising) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18);
}

/// The line through a part without a step, where it has a trend: what drifts far is alike in neighbours on
/// both sides of every cut, so that no step is found in it.
SeriesPart with_trend(std::span<const double> values, const SeriesPart& part) {
  constexpr std::size_t kFewest = 14;
  constexpr double kTrend = 3.7;  // 2 in 10,000 by chance
  if (part.end - part.begin < kFewest || part.drifts || trend_z(values, part) <= kTrend) return part;
  const SeriesPart line = line_part(values, part.begin, part.end);
  std::vector<double> distances;
  for (std::size_t i = part.begin; i < part.end; ++i) distances.push_back(values[i] - line.at(i));
  const double n = static_cast<double>(distances.size());
  const double rho = autocorrelation(distances).first_lag;
  const double used = std::min(std::clamp(rho * std::sqrt(n) - 1, 0.0, 1.0) * std::max(rho, 0.0), 0.95);
  const double z = trend_z(values, part) * std::sqrt((1 - used) / (1 + used));
  return z > kTrend && line.first != line.last ? line : part;
}

std::vector<SeriesPart> level_parts(std::span<const double> values, std::span<const std::size_t> cuts) {
  std::vector<SeriesPart> parts;
  std::size_t begin = 0;
  for (const std::size_t cut : cuts) {
    parts.push_back(level_part(values, begin, cut));
    begin = cut;
  }
  if (begin < values.size()) parts.push_back(level_part(values, begin, values.size()));
  return parts;
}

/// Joins what drifts: from each part on the longest run of parts that a line fits better.
std::vector<SeriesPart> with_drifts(std::span<const double> values, std::span<const SeriesPart> levels) {
  std::vector<SeriesPart> parts;
  for (std::size_t i = 0; i < levels.size();) {
    std::size_t used = 1;
    SeriesPart part = levels[i];
    for (std::size_t count = levels.size() - i; count > 1; --count) {
      const auto line = drift_through(values, levels.subspan(i, count));
      if (!line) continue;
      part = *line;
      used = count;
      break;
    }
    parts.push_back(with_trend(values, part));
    i += used;
  }
  return parts;
}

std::vector<std::size_t> places_of(std::span<const ChangePoint> changes) {
  std::vector<std::size_t> cuts;
  for (const ChangePoint& change : changes) cuts.push_back(change.index);
  return cuts;
}

}  // namespace

double SeriesPart::at(std::size_t index) const {
  if (!drifts) return level;
  return first + (last - first) * static_cast<double>(index - begin) / static_cast<double>(end - begin - 1);
}

std::vector<SeriesPart> series_parts(std::span<const double> values, std::span<const ChangePoint> changes) {
  return with_drifts(values, level_parts(values, places_of(changes)));
}

std::vector<SeriesPart> parts_that_differ(std::span<const double> values,
                                          std::span<const ChangePoint> changes, double least) {
  const auto magnitude = [](double before, double after) {
    return before == 0 ? 1 : std::abs(after / before - 1);
  };
  std::vector<std::size_t> cuts = places_of(changes);
  for (;;) {
    std::vector<SeriesPart> parts = with_drifts(values, level_parts(values, cuts));
    for (SeriesPart& part : parts) {
      if (part.drifts && magnitude(part.first, part.last) < least)
        part = level_part(values, part.begin, part.end);
    }
    double smallest = least;
    std::optional<std::size_t> place;
    for (std::size_t i = 1; i < parts.size(); ++i) {
      const double here = magnitude(parts[i - 1].last, parts[i].first);
      if (here >= smallest) continue;
      smallest = here;
      place = parts[i].begin;
    }
    if (!place) return parts;
    std::erase(cuts, *place);
  }
}

std::vector<SpreadChange> spread_changes(std::span<const double> values, std::span<const SeriesPart> parts) {
  constexpr std::size_t kFewest = 8;
  std::vector<double> distances;
  std::vector<std::size_t> places;
  for (const SeriesPart& part : parts) {
    if (part.end - part.begin < kFewest) continue;
    const double unit = part.level == 0 ? 1 : std::abs(part.level);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      distances.push_back(std::abs(values[i] - part.at(i)) / unit);
      places.push_back(i);
    }
  }
  std::vector<SpreadChange> found;
  const std::vector<ChangePoint> changes = change_points(distances);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::size_t begin = i == 0 ? 0 : changes[i - 1].index, at = changes[i].index;
    const std::size_t end = i + 1 < changes.size() ? changes[i + 1].index : distances.size();
    const double before = median(std::span(distances).subspan(begin, at - begin));
    const double after = median(std::span(distances).subspan(at, end - at));
    if (before > 0 && after > 0) found.push_back({places[at], after / before});
  }
  return found;
}

}  // namespace headroom
