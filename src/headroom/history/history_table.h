// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/history/series_story.h"
#include "headroom/history/store.h"
#include "headroom/tables/table.h"

namespace headroom {

/// A row for each run.
Table runs_table(const std::vector<StoredRun>& runs);
Json runs_json(const std::vector<StoredRun>& runs);

/// A row for each series, with its last change.
Table series_table(std::span<const SeriesStory> stories);
Json series_list_json(std::span<const SeriesStory> stories);

/// Formats seconds since 1970 as "2026-09-21 14:13" in UTC; "(unknown)" for 0.
std::string format_utc(std::uint64_t seconds);

/// Returns whether the series changed, its plot, its segments and the changes between them.
Sheet series_sheet(const SeriesStory& story);
/// Returns the first sentences: whether the series changed, and whether it may have changed just now.
std::vector<std::string> series_answers(const SeriesStory& story);
Json series_json(const SeriesStory& story);

/// "+10.0 % (+9.6 .. +10.4)"; empty without a ratio.
std::string change_text(const std::optional<double>& ratio, const std::optional<Interval>& interval);
/// Returns "drifts by +5.3 % over 40 values" for a drifting segment.
std::string drift_text(const SeriesSegment& segment);

}  // namespace headroom
