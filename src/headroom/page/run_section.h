// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/page/page.h"
#include "headroom/record/record.h"

namespace headroom {

/// What a page shows of the records of a run (assets/sections/run.js):
///
///     {"answers": [sentence],
///      "run": run_json of page/environment_facts.h,
///      "count": cases, "cases": as page/case_columns.h has it, "texts": [text],
///      "environments": [as page/environment_facts.h has it],
///      "marks": [line], "roofline": as report/roofline_json.h has it, or null}
///
/// `answers`: what its instrument says of it (Sheet::answers).
PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers);

}  // namespace headroom
