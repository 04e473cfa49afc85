// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/ranks/dispatch/dispatch_expectations.h"
#include "headroom/record/record.h"

namespace headroom {

/// What `headroom dispatch` prints of its records: times a call, what distribution adds to them and on which
/// rank most, the steps of a call, instructions where they were counted, and what was not measured.
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string dispatch_report(const std::vector<Record>& records, std::size_t width = 0);

/// The median of each rank, a row for each operator and rank.
std::string dispatch_rank_report(const std::vector<Record>& records, std::size_t width = 0);

/// How the measurement stands to what was expected.
std::string expectation_report(const std::vector<ExpectationVerdict>& verdicts, std::size_t width = 0);

}  // namespace headroom
