// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// A time that may be below 0, as differences are: "-4.10 µs".
std::string signed_time(double ns);

/// The value of a record in s or us: "4.10 µs". Empty without a record.
std::string metric_time(const Record* record);
/// The same with half the width of its interval: "4.10 µs ±90.0 ns", "4.10 µs ±?" where it has none.
std::string metric_time_with_interval(const Record* record);
/// The value of a record of any other unit: "812 ±9.50". Empty without a record.
std::string metric_number_with_interval(const Record* record);

/// Half the width of the interval as a share of the value: "1.3 %"; its ends where it is not even, "3.21
/// ms–14.7 ms"; "?" where there is none.
std::string spread_text(const Record& record);
/// "92.5 % ±0.8", both in percent; "92.5 % (48.6–101 %)" where the interval is not even.
std::string share_with_interval(double share, const std::optional<Interval>& interval);
/// The share of its limit that the record reaches, so; empty where none was sampled.
std::string limit_text(const Record& record);

/// "10.0 ms in 52 % of the samples, 14.0 ms in 48 %", medians in `unit`.
std::string groups_text(const std::vector<Mode>& groups, const std::string& unit, const std::string& metric);
/// "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed" of a record that holds a time; empty where
/// its times are one group.
std::string modes_text(const Record& record);

/// "    1.230 x the time of native (95 % interval 1.200 to 1.260)", how the case stands to the first one of
/// its rounds; empty where it has none.
std::string ratio_text(const Record& record);

/// The name of what was measured; with its runner where the records are of several: "add (build/new-rank)".
std::string name_with_runner(const Record& record, const std::vector<Record>& records);

}  // namespace headroom
