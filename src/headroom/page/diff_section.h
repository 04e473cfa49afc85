// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/compare/diff_report.h"
#include "headroom/page/page.h"

namespace headroom {

/// What a page shows of a comparison (assets/sections/diff.js):
///
///     {"answers": [sentence], "baseline": label,
///      "tests": [{"label", "different_machines", "differences": [{"what", "baseline", "test"}],
///                 "mean": {"ratio", "low", "high", "cases"} or null, "only_baseline": [name],
///                 "only_test": [name]}],
///      "count": comparisons, "comparisons": {COLUMN: [one of each]}, "texts": [text], "shifts_of": number or
///      absent}
///
/// Columns: "test" (which), "case", "backend", "metric", "unit", "lower_is_better", "baseline", "value";
/// "ratio" (test over baseline), "low", "high", "n", "estimator", "margin", "verdict" as `headroom diff` has
/// them; "doubts" (numbers of texts), "problem"; "shift": the nine deciles, [percentile, baseline, test,
/// ratio, low, high, verdict] each. Numbers that there are not are null; a column that is null in all rows is
/// left out. Of very many comparisons only some that changed have a shift: "shifts_of" says how many.
/// `answers`: what `headroom diff` says first.
PageSection diff_section(const DiffReport& report, const std::vector<std::string>& answers);

}  // namespace headroom
