// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/history/series_story.h"
#include "headroom/history/site_state.h"

namespace headroom {

/// What a site remembers of a series; a change that `before` knows, at this run or a few beside it, keeps its
/// key.
SiteSeries site_summary(const SeriesStory& story, const SeriesMark& mark,
                        const std::vector<SiteChange>& before);

/// Whether a change belongs to what is new: it lies in the last week of `newest` (seconds since 1970), or so
/// few values came since that it could not be told earlier, in a series that is still measured.
bool is_recent(const SiteSeries& one, const SiteChange& change, std::uint64_t newest);

/// A change and whose it is.
struct ChangeOfSeries {
  const SiteSeries* series = nullptr;
  const SiteChange* change = nullptr;
};

/// Of all series, the newest first.
std::vector<ChangeOfSeries> changes_of(const SiteState& state);

/// Time of the newest value of all series, in seconds since 1970.
std::uint64_t newest_time(const SiteState& state);

/// "+10.0 % (+9.6 .. +10.4) worse", "drifts by +5.3 % over 40 values, worse".
std::string change_words(const SiteChange& change);

/// One value of a series, or several neighbours where there are too many to show.
struct SitePoint {
  std::size_t first = 0, last = 0;  ///< indices into the values, both included
  double value = 0;                 ///< the median of several
  /// The interval of one value, least and most of several; nothing where the value has none.
  std::optional<SiteRange> range;
};

/// All values where they are at most `most`; else the newest `single` each, and of those before medians of
/// neighbours, never of both sides of a change. About `most` points at most.
std::vector<SitePoint> site_points(const SeriesStory& story, std::size_t most, std::size_t single);

}  // namespace headroom
