// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/history/store.h"
#include "headroom/stats/changepoint.h"
#include "headroom/stats/series_parts.h"

namespace headroom {

/// Values of a series between two changes.
struct SeriesSegment {
  std::size_t first = 0, last = 0;  ///< indices into the values, both included
  double median = 0;
  std::optional<Interval> interval;  ///< of the median; nothing where there are too few values
  std::optional<double> ratio;       ///< to the median of the segment before
  std::optional<Interval> ratio_interval;
  std::optional<double> drift;       ///< where it has no level but a slow drift: its end over its beginning
  std::vector<std::string> changes;  ///< in the environment, against the last run of the segment before
};

/// What a series says about itself.
struct SeriesStory {
  StoredSeries series;
  std::vector<StoredValue> values;
  std::vector<SeriesSegment> segments;  ///< at least one where there are values
  std::vector<SpreadChange> spreads;
  std::optional<ChangePoint> suspected;
};

/// Finds the changes of a series that are at least `least` (a share) of the level before. `environment_of`
/// gives the environment of a run, asked for only at changes; without it nothing is said about environments.
SeriesStory series_story(StoredSeries series, std::vector<StoredValue> values,
                         const std::function<Environment(std::int64_t)>& environment_of, double least = 0);

/// Whether a quantity that is now `ratio` of what it was is bad news.
bool is_worse(double ratio, Direction direction);

}  // namespace headroom
