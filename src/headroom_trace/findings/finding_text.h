// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "headroom_trace/analysis.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/findings/step_shares.h"

namespace headroom::trace {

/// Sets the answer to the standing lines and the first `most` findings (0: all), and adds their table and the
/// headline "recoverable_ns".
void report_findings(const std::vector<Finding>& findings, const StepShares& shares, std::size_t most,
                     AnalysisResult& result);

}  // namespace headroom::trace
