// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// "4.10 µs" for any time, else "5.00 tokens/s".
std::string value_text(double value, const std::string& unit, const std::string& metric);

std::string signed_time(double ns);

/// "4.10 µs" for s or us; empty for nullptr.
std::string metric_time(const Record* record);
/// "4.10 µs ±90.0 ns", "4.10 µs (3.21 µs–14.7 µs)" if asymmetric, or "4.10 µs ±?".
std::string metric_time_with_interval(const Record* record);
/// "812 ±9.50" or "812 (790–1200)"; empty for nullptr.
std::string metric_number_with_interval(const Record* record);

/// Table cells, one kind of number a column, show the longer side of an asymmetric interval.
///
/// The half-width "1.3 %" of the value, or "?".
std::string spread_text(const Record& record);
/// "4.10 µs ±90.0 ns" or "4.10 µs ±?"; empty for nullptr.
std::string metric_time_cell(const Record* record);
/// "812 ±9.50"; empty for nullptr.
std::string metric_number_cell(const Record* record);
/// "92.5 % ±0.8".
std::string share_cell(double share, const std::optional<Interval>& interval);
/// Shows the limit; may be empty.
std::string limit_cell(const Record& record);

/// " ±1.3 %", " (3.21 ms–14.7 ms)", or empty.
std::string spread_suffix(const Record& record);
/// "92.5 % ±0.8" or "92.5 % (48.6–101 %)".
std::string share_with_interval(double share, const std::optional<Interval>& interval);
/// Shows the limit; may be empty.
std::string limit_text(const Record& record);

/// "10.0 ms in 52 % of the samples, 14.0 ms in 48 %".
std::string groups_text(const std::vector<Mode>& groups, const std::string& unit, const std::string& metric);
/// "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed"; empty if unimodal.
std::string modes_text(const Record& record);

/// "95 % interval 1.200 to 1.260", or why there is none.
std::string interval_phrase(const std::optional<Interval>& interval);

/// "    1.230 x the time of native (95 % interval 1.200 to 1.260)"; may be empty.
std::string ratio_text(const Record& record);

/// "add (build/new-rank)", with the runner only if there are several.
std::string name_with_runner(const Record& record, const std::vector<Record>& records);

/// Metrics to show besides run_table().
struct MetricChoice {
  std::vector<std::string> names{};
  bool all = false;
};

/// With MetricChoice::all, has the records that run_table() omits.
Table metric_table(const std::vector<Record>& records, const MetricChoice& choice);

/// "  6 more results: cpu_time, items_per_second; --all-metrics shows them", or empty.
std::string unshown_metrics_text(const std::vector<Record>& records);

}  // namespace headroom
