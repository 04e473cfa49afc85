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
///      "count": cases, "cases": {COLUMN: [one of each case]},
///      "marks": [line], "roofline": as report/roofline_json.h has it, or null}
///
/// Columns: "case", "backend", "dtype", "outcome" ("measured", "skipped", "failed", "wrong"), "reason";
/// "time", "time_low", "time_high" in "time_unit", "n" samples; "metric", "value", "low", "high" in "unit",
/// where the case is about another one than its time; "limit" (its name), "share" of it, "share_low",
/// "share_high"; "target" in "unit" and "target_share", "verdict" ("ok", "missed", "unclear"); "marks";
/// "ratio", "ratio_low", "ratio_high" to "ratio_to". Numbers and texts that there are not are null; a column
/// that is null in all cases is left out. `answers`: what its instrument says of it (Sheet::answers).
PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers);

}  // namespace headroom
