// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "headroom/page/columns.h"
#include "headroom/record/record.h"
#include "headroom/report/case_rows.h"

namespace headroom {

/// {COLUMN: [one of each row]}, what a page says of cases:
///
/// "case", "backend", "dtype", "outcome" ("measured", "skipped", "failed", "wrong"), "reason"; "time",
/// "time_low", "time_high" in "time_unit", "n" samples; "metric", "value", "low", "high" in "unit", where the
/// case is about another one than its time; "limit" (its name), "share" of it, "share_low", "share_high";
/// "target" in "unit" and "target_share", "verdict" ("ok", "missed", "unclear"); "marks"; "ratio",
/// "ratio_low", "ratio_high" to "ratio_to"; "samples" of the time, or of the metric without one
/// (page/sample_summary.h), "limit_at" and "target_at" in their unit, "modes" of them ([[median, share]...]);
/// "notes" and "about": numbers of `texts`; "environment": which of `environments`, where there are several.
/// What there is not is null; a column that is null in all rows is left out.
Json case_columns(const std::vector<Record>& records, const std::vector<CaseRow>& rows,
                  const std::vector<const Environment*>& environments, TextIndex& texts);

}  // namespace headroom
