// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/table.h"
#include "headroom/history/series_story.h"
#include "headroom/history/store.h"

namespace headroom {

/// Runs, one a row.
Table runs_table(const std::vector<StoredRun>& runs);
Json runs_json(const std::vector<StoredRun>& runs);

/// Series, one a row, with their last change.
Table series_table(std::span<const SeriesStory> stories);
Json series_list_json(std::span<const SeriesStory> stories);

/// "2026-09-21 14:13" of seconds since 1970, in UTC; "(unknown)" for 0.
std::string format_utc(std::uint64_t seconds);

}  // namespace headroom
