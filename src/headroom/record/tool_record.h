// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// A record of a case that another tool measured. `unit` fits the metric's own name.
Record tool_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                   Direction direction = Direction::kLowerIsBetter);

/// The one that tables show for its case.
Record headline_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                       Direction direction = Direction::kLowerIsBetter);

/// `values` become the samples of one process, their median the value; none are a failed case. No rounds:
/// what other tools measure is not paired.
void set_samples(Record& record, std::vector<double> values, std::uint64_t iterations = 0);

/// The median of at least one value, without a copy of them: their order is lost.
double median_in_place(std::vector<double>& values);

/// A number without samples: nothing can be said about its spread.
void set_value(Record& record, double value);

/// What the direction of a metric of that name is taken to be, as its file does not say it: rates are better
/// higher, times and everything else lower.
Direction direction_of_name(std::string_view metric);

/// The unit in a name such as "memory_bandwidth(GB/s)" or "Cold compile time (s)", where it has one.
std::string unit_of_name(std::string_view metric);

}  // namespace headroom
