// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "headroom/compare/diff_report.h"
#include "headroom/record/record.h"
#include "headroom_pages/page.h"
#include "headroom_trace/report/trace_report.h"
#include "headroom_trace/timeline/timeline.h"

namespace headroom {

/// A run's records (assets/sections/run.js). `answers`: View::answers of its instrument.
///
///     {"answers": [sentence],
///      "run": run_json of headroom_pages/case_columns.h,
///      "count": cases, "cases": case_columns of headroom_pages/case_columns.h, "texts": [text],
///      "environments": [environment_facts()],
///      "marks": [line], "roofline": as in report/roofline.h, or null}
PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers);

/// A comparison (assets/sections/diff.js). `answers`: the first lines of `headroom diff`.
///
///     {"answers": [sentence], "baseline": label,
///      "tests": [{"label", "different_machines", "differences": [{"what", "baseline", "test"}],
///                 "mean": {"ratio", "low", "high", "cases"} or null, "only_baseline": [name],
///                 "only_test": [name]}],
///      "count": comparisons, "comparisons": {COLUMN: [one of each]}, "texts": [text],
///      "shifts_of": number or absent}
///
/// Columns: "ratio" is test over baseline; "estimator", "margin" and "verdict" are those of `headroom diff`;
/// "paired": whether `n` counts pairs; "reason" and "doubts" index texts; "shift": the nine deciles,
/// [percentile, baseline, test, ratio, low, high, verdict] each. Missing values as in case_columns(). Of very
/// many comparisons only "shifts_of" changed ones have a shift.
PageSection diff_section(const DiffReport& report, const std::vector<std::string>& answers);

/// An instrument whose cases have many metrics (assets/sections/KIND.js). Cases are those of
/// report/case_rows.h; missing values are null.
///
///     {"answers": [sentence], "run": run_json of headroom_pages/case_columns.h,
///      "environments": [environment_facts()],
///      "cases": [{"name", "label" (name and axes), "backend", "runner", "dtype",
///                 "axes": {name: number or text}, "outcome", "reason", "notes": [text],
///                 "about": {name: text},
///                 "metrics": {NAME: {"value", "unit", "low", "high", "n",
///                             "ranks": [median of each] or absent, "numbers": {name: number} or absent,
///                             "limit": {"name", "at", "share", "low", "high"} or absent}},
///                 "headline": NAME, "samples": of it (sample_summary()),
///                 "ratio": {"ratio", "low", "high", "to"} or absent}],
///      "cache_run": as in command/cache_run.h, or absent}
PageSection instrument_section(std::string kind, std::string title, const std::vector<Record>& records,
                               const std::vector<std::string>& answers);

/// Operations of known cost, over the steps or the whole trace.
struct AchievedRate {
  double flops_per_second = 0;  ///< of a rank
  double covered = 0;           ///< share of the GPU time in operators of known cost
};

/// A trace or the traces of one job. `report`: of the analysis summary. `achieved`: nothing if unknown.
///
///     {"key":{"steps","step_ns","busy","exposed_communication","first_three_ns",
///             "achieved":{"flops_per_second","covered"}} or null,
///      "doubts":[…],"answer":[…],"findings":[{"kind","recoverable_ns","share","rank","step","at","where","evidence","fix"}],
///      "tables":[{"title","columns":[{"title","unit"}],"rows":[[…]]}],"notes":[…],"timeline":{…}}
///
/// Unknown values are null; "steps" is 0 for a trace without steps. `at` is ns on the timeline. Units are ns,
/// B, share, 1, GB/s, or null for text. The timeline is timeline_json().
PageSection trace_section(std::string title, const TraceReport& report, const trace::JobTimeline& timeline,
                          const std::optional<AchievedRate>& achieved = std::nullopt);

}  // namespace headroom
