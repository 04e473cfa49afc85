// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/trace/columns/trace_facts.h"

namespace headroom::cli {

/// What is amiss with each trace, a line each, as long as it can be read.
void warn_of_problems(const std::vector<trace::TraceFacts>& traces);

}  // namespace headroom::cli
