// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/compare/diff_report.h"
#include "headroom/record/record.h"
#include "headroom_pages/page.h"
#include "headroom_trace/report/trace_report.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom {

/// What a page shows of the records of a run (assets/sections/run.js):
///
///     {"answers": [sentence],
///      "run": run_json of headroom_pages/case_columns.h,
///      "count": cases, "cases": as headroom_pages/case_columns.h has it, "texts": [text],
///      "environments": [as environment_facts() has it],
///      "marks": [line], "roofline": as report/roofline.h has it, or null}
///
/// `answers`: what its instrument says of it (Sheet::answers).
PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers);

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
/// them; "reason" and "doubts" (numbers of texts), "problem"; "shift": the nine deciles, [percentile,
/// baseline, test, ratio, low, high, verdict] each. Numbers that there are not are null; a column that is
/// null in all rows is left out. Of very many comparisons only some that changed have a shift: "shifts_of"
/// says how many. `answers`: what `headroom diff` says first.
PageSection diff_section(const DiffReport& report, const std::vector<std::string>& answers);

/// What a page shows of an instrument whose cases have many metrics each (ranks, operators, steps, commands
/// with caches); assets/sections/KIND.js says what is made of it:
///
///     {"answers": [sentence], "run": run_json of headroom_pages/case_columns.h,
///      "environments": [as environment_facts() has it],
///      "cases": [{"name", "label" (the name and its axes), "backend", "runner", "dtype",
///                 "axes": {name: number or text}, "outcome", "reason", "notes": [text], "about": {name:
///                 text}, "metrics": {NAME: {"value", "unit", "low", "high", "n", "ranks": [median of each]
///                 or
///                             absent, "about": {name: text} or absent,
///                             "limit": {"name", "at", "share", "low", "high"} or absent}},
///                 "headline": NAME, "samples": of it (headroom_pages/case_columns.h),
///                 "ratio": {"ratio", "low", "high", "to"} or absent}],
///      "cache_run": as command/cache_run.h has it, or absent}
///
/// Cases are those of report/case_rows.h. Numbers that there are not are null.
PageSection instrument_section(std::string kind, std::string title, const std::vector<Record>& records,
                               const std::vector<std::string>& answers);

/// What a trace, or the traces of the ranks of one job, tell: what to fix first, the timeline, the tables of
/// `report`, which is of the analysis summary.
///
///     {"answer":[…],"findings":[{"kind","recoverable_ns","share","rank","step","at","where","evidence","fix"}],
///      "tables":[{"title","columns":[{"title","unit"}],"rows":[[…]]}],"notes":[…],"timeline":{…}}
///
/// `at` is ns on the timeline; null where nobody knows when. Units are ns, B, share, 1, GB/s, or null for
/// text. The timeline is what headroom_trace/timeline/timeline.h writes.
PageSection trace_section(std::string title, const TraceReport& report, const trace::JobTimeline& timeline);

}  // namespace headroom
