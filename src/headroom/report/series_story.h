// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/history/store.h"
#include "headroom/stats/changepoint.h"

namespace headroom {

/// Values of a series between two changes.
struct SeriesSegment {
  std::size_t first = 0, last = 0;  ///< indices into the values, both included
  double median = 0;
  std::optional<Interval> interval;  ///< of the median; nothing where there are too few values
  std::optional<double> ratio;       ///< to the median of the segment before
  std::optional<Interval> ratio_interval;
  std::vector<std::string> changes;  ///< in the environment, against the last run of the segment before
};

/// What a series says about itself.
struct SeriesStory {
  StoredSeries series;
  std::vector<StoredValue> values;
  std::vector<SeriesSegment> segments;  ///< at least one where there are values
  std::optional<ChangePoint> suspected;
};

/// Finds the changes of a series. `environment_of` gives the environment of a run, asked for only at changes.
SeriesStory series_story(StoredSeries series, std::vector<StoredValue> values,
                         const std::function<Environment(std::int64_t)>& environment_of);

/// A series with its plot, its segments and what changed between them.
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string series_text(const SeriesStory& story, std::size_t width = 0);
Json series_json(const SeriesStory& story);

}  // namespace headroom
