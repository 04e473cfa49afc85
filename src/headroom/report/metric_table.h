// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Metrics to show in addition to run_table().
struct MetricChoice {
  std::vector<std::string> names{};
  bool all = false;
};

/// With MetricChoice::all, has the records that run_table() omits.
Table metric_table(const std::vector<Record>& records, const MetricChoice& choice);

/// Returns "  6 more results: cpu_time, items_per_second; --all-metrics shows them", or an empty text.
std::string unshown_metrics_text(const std::vector<Record>& records);

}  // namespace headroom
