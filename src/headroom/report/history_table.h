// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/base/table.h"
#include "headroom/history/store.h"

namespace headroom {

/// Runs, one a row.
Table runs_table(const std::vector<StoredRun>& runs);
Json runs_json(const std::vector<StoredRun>& runs);

/// Series, one a row.
Table series_table(const std::vector<StoredSeries>& series,
                   const std::map<std::int64_t, SeriesExtent>& extents);
Json series_list_json(const std::vector<StoredSeries>& series,
                      const std::map<std::int64_t, SeriesExtent>& extents);

/// "2026-09-21 14:13" of seconds since 1970, in UTC; "(unknown)" for 0.
std::string format_utc(std::uint64_t seconds);

}  // namespace headroom
