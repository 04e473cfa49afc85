// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/sheet.h"
#include "headroom/history/series_story.h"

namespace headroom {

/// A series: whether it changed, its plot, its segments and what changed between them.
Sheet series_sheet(const SeriesStory& story);
/// Its first sentences: whether it changed, and whether it perhaps did just now.
std::vector<std::string> series_answers(const SeriesStory& story);
Json series_json(const SeriesStory& story);

/// "+10.0 % (+9.6 .. +10.4)"; empty without a ratio.
std::string change_text(const std::optional<double>& ratio, const std::optional<Interval>& interval);
/// "drifts by +5.3 % over 40 values", of a segment that does.
std::string drift_text(const SeriesSegment& segment);

}  // namespace headroom
