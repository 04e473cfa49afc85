// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Formats a time in any record unit as "4.10 µs", anything else as "5.00 tokens/s".
std::string value_text(double value, const std::string& unit, const std::string& metric);

/// Formats a time that may be negative: "-4.10 µs".
std::string signed_time(double ns);

/// Returns a record's value in s or us: "4.10 µs". Empty without a record.
std::string metric_time(const Record* record);
/// Adds the half-width of the interval: "4.10 µs ±90.0 ns", or "4.10 µs ±?" without an interval.
std::string metric_time_with_interval(const Record* record);
/// Returns a record's value in any other unit: "812 ±9.50". Empty without a record.
std::string metric_number_with_interval(const Record* record);

/// Returns the half-width of the interval as a share of the value: "1.3 %"; for an asymmetric interval its
/// ends: "3.21 ms–14.7 ms"; "?" without an interval.
std::string spread_text(const Record& record);
/// Returns "92.5 % ±0.8", both in percent; "92.5 % (48.6–101 %)" for an asymmetric interval.
std::string share_with_interval(double share, const std::optional<Interval>& interval);
/// Returns the reached share of the limit in this form; empty if no limit was sampled.
std::string limit_text(const Record& record);

/// Returns "10.0 ms in 52 % of the samples, 14.0 ms in 48 %" for medians in `unit`.
std::string groups_text(const std::vector<Mode>& groups, const std::string& unit, const std::string& metric);
/// Returns "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed" for a time; empty if unimodal.
std::string modes_text(const Record& record);

/// Returns "    1.230 x the time of native (95 % interval 1.200 to 1.260)": the ratio to the first case of
/// the same rounds; empty without one.
std::string ratio_text(const Record& record);

/// Returns the case name, with its runner if the records have several: "add (build/new-rank)".
std::string name_with_runner(const Record& record, const std::vector<Record>& records);

}  // namespace headroom
