// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "headroom/history/series_story.h"
#include "headroom_pages/page.h"
#include "headroom_pages/site/site_state.h"

namespace headroom {

/// The first page: what changed lately, then all series, machine by machine. Data of its sections:
///
/// changes (assets/sections/changes.js)
///     {"up_to": seconds since 1970 of the newest value, "series": how many, "recent", "earlier": [change,
///     the
///      newest first], "earlier_count": how many there are, "suspected": [{"series", "href", "machine",
///      "run"}]}
///     A change: "series" (name and metric), "href", "machine", "run", "time", "commit", "since" (values of
///     the series from it on), "drifts", "ratio", "low", "high" (after to before; null: from 0), "worse".
/// machine (assets/sections/machine.js), one for each
///     {"count", "series": {COLUMN: [one of each]}}: "name", "metric", "href", "unit", "level", "low",
///     "high", "values", "last_time", "spark" (medians of parts, in order), "change" (as above, or null).
Page site_index(const SiteState& state);

/// Samples by index of their value.
using SamplesOfValues = std::map<std::size_t, StoredSamples>;

/// The page of a series. Data of its section, series (assets/sections/series.js):
///
///     {"answers": [sentence], "name", "metric", "unit", "machine", "lower_is_better", "values": how many,
///      "singles": so many of the newest are points of their own, or null where all are,
///      "points": {COLUMN: [one of each]}: "run", "time", "value", "low", "high", "values" (for how many it
///        stands: the median, least and most of several), "commit" (place in "commits"); "commits": [text],
///      "levels": [{"first", "last" (places of points), "run", "time", "commit", "values", "median", "low",
///        "high", "ratio", "ratio_low", "ratio_high", "worse", "drift", "changes": [line]}],
///      "suspected": run at which it perhaps changed, or null,
///      "samples": [{"run", "time", "commit", "value", "low", "high", "processes": [[value]], "count",
///        "problem": why they cannot be read, empty where they can}], the newest first}
Page site_series_page(const SeriesStory& story, const SiteSeries& summary, const SamplesOfValues& samples);

/// Returns the newest changes as an Atom feed (RFC 4287).
std::string site_feed(const SiteState& state);

}  // namespace headroom
