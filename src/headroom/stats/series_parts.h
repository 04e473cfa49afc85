// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "headroom/stats/changepoint.h"

namespace headroom {

/// Values of a series between two changes: around a level, or along a line.
struct SeriesPart {
  std::size_t begin = 0, end = 0;  ///< `end` is the first value after it
  double level = 0;                ///< the median
  bool drifts = false;
  double first = 0, last = 0;  ///< the line at both ends where it drifts, else the level

  double at(std::size_t index) const;
};

/// The parts that `changes` (in ascending order) make of `values`, at least one where there are values.
///
/// A slow drift looks like one step or several: steps in one direction that lie side by side are one part
/// that drifts where a line leaves less of the values than their levels do (sums of absolute distances, each
/// held against what its number of parameters can take off). What has no step drifts where Mann and Kendall's
/// test says so, its z corrected for neighbours that are alike beside the line (as in change_points) and
/// above 3.7. The line is that of Theil and Sen: the median of the slopes between two values each.
std::vector<SeriesPart> series_parts(std::span<const double> values, std::span<const ChangePoint> changes);

/// The same without the changes that are less than `least` of the level before them (a share: 0.02), the
/// smallest first: what is left of their neighbours is measured anew.
std::vector<SeriesPart> parts_that_differ(std::span<const double> values,
                                          std::span<const ChangePoint> changes, double least);

/// From `index` on values scatter more, or less, than before.
struct SpreadChange {
  std::size_t index = 0;
  double ratio = 1;  ///< of the median distances from the level, after to before
};

/// Where the spread of `values` around their `parts` changed: change_points of the distances from level or
/// line, those of parts with fewer than 8 values left out, which have a level too near to them. Distances are
/// shares of the level where that is not 0. Measured by bench/changepoints.cpp.
std::vector<SpreadChange> spread_changes(std::span<const double> values, std::span<const SeriesPart> parts);

}  // namespace headroom
