// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Metrics to show beside those of run_table().
struct MetricChoice {
  std::vector<std::string> names{};
  bool all = false;
};

/// Makes a row for each measured record of the chosen metrics; of all metrics, for those that
/// run_table(records) does not show.
Table metric_table(const std::vector<Record>& records, const MetricChoice& choice);

/// Counts the results of other tools that run_table(records) does not show: "  6 more results: cpu_time,
/// items_per_second; --all-metrics shows them". Empty if there are none.
std::string unshown_metrics_text(const std::vector<Record>& records);

}  // namespace headroom
