// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/plan.h"

namespace headroom::cli {

/// Asked before measuring. Throws Error where no runner of `groups` can record its cases, or `folder` cannot
/// be written to.
void require_traces(const std::string& folder, const std::vector<Group>& groups,
                    const std::vector<RunnerOffer>& offers);

/// Says on standard error where the traces are, and which cases have none, and why.
void report_traces(const std::string& folder, const std::vector<Record>& records);

}  // namespace headroom::cli
