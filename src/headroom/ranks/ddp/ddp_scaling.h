// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/table.h"
#include "headroom/compare/diff_report.h"

namespace headroom {

/// How data-parallel training scales on both sides: a row for each rank count of a model and batch size, from
/// the comparisons whose case has an axis "ranks" and whose metric is a time. Efficiency is the time with the
/// fewest ranks over the time with this many: each rank does the same work, so 100 % is perfect. Skew is how
/// much slower the slowest rank is than the fastest, by their medians; "-" where the samples do not tell the
/// ranks apart. No rows where no case has two rank counts.
Table scaling_table(const DiffReport& report);

}  // namespace headroom
