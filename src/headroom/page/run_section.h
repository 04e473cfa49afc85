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
///      "run": {"when": seconds since 1970 or null, "machine", "processor", "command", "revision",
///              "version": texts, empty where the records do not say, "machines": how many},
///      "count": cases, "cases": as page/case_columns.h has it, "texts": [text],
///      "environments": [as page/environment_facts.h has it],
///      "marks": [line], "roofline": as report/roofline_json.h has it, or null}
///
/// `answers`: what its instrument says of it (Sheet::answers).
PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers);

}  // namespace headroom
