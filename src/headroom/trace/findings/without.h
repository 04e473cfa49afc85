// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/trace/analysis.h"
#include "headroom/trace/findings/finding_search.h"

namespace headroom::trace {

/// Says first what a step would take if nothing of a name took any time: operators, calls, annotations and
/// functions of the host whose name fits the glob, with the GPU work that they launch, and GPU work whose own
/// name fits. Adds the headline "without_ns", of a step. Throws Error where nothing is called so.
void add_without(const FindingSearch& search, const std::string& pattern, AnalysisResult& result);

}  // namespace headroom::trace
