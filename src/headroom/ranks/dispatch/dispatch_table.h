// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/base/sheet.h"
#include "headroom/ranks/dispatch/dispatch_expectations.h"
#include "headroom/record/record.h"

namespace headroom {

/// Where a record (Model::extra_info) says why instructions were not counted.
inline constexpr const char* kNoInstructionsKey = "no_instructions";

/// What `headroom dispatch` shows of its records: what distribution adds to a call and how the measurement
/// stands to what was expected; times a call, what distribution adds on which rank most, the steps of a call,
/// instructions where they were counted, what was not measured, and a table of `verdicts` where there are
/// any.
Sheet dispatch_sheet(const std::vector<Record>& records,
                     const std::vector<ExpectationVerdict>& verdicts = {});

/// The median of each rank, a row for each operator and rank.
Table dispatch_rank_table(const std::vector<Record>& records);

}  // namespace headroom
