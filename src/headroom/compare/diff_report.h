// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/compare/comparison.h"
#include "headroom/compare/environment_differences.h"
#include "headroom/compare/match.h"
#include "headroom/compare/verdict.h"
#include "headroom/tables/table.h"

namespace headroom {

struct DiffTest {
  std::string label;
  EnvironmentDifferences environment;
  std::vector<const Record*> only_baseline, only_test;
};

/// Does not own the records.
struct DiffReport {
  std::string baseline;
  std::vector<DiffTest> tests;
  std::vector<Comparison> comparisons;  ///< in display order
  Multiplicity multiplicity = Multiplicity::kBenjaminiHochberg;
  std::vector<double> percentiles;  ///< 0 to 100
  bool shift = false;
  std::optional<GateResult> gate;
};

/// Rows by case and metric, with remarks below.
Table diff_table(const DiffReport& report);

Table percentile_table(const DiffReport& report);

Table shift_table(const DiffReport& report);

Table environment_table(const DiffReport& report);

void answer_diff(View& view, const DiffReport& report);

std::string diff_summary(const DiffReport& report);

/// Names with the differences between cases: backend, device, candidate.
std::vector<std::string> compared_names(const DiffReport& report);

/// JSON, one comparison per line, in pieces because there may be many:
///
///     {"headroom_diff": {"schema": 1}, "baseline": LABEL,
///      "tests": [{"label", "different_machines", "differences": [{"what", "baseline", "test"}],
///                 "geometric_mean_worsening" or null, "only_baseline": [CASE], "only_test": [CASE]}],
///      "comparisons": [{"test": index, "case", "backend", "metric", "unit", "lower_is_better", "baseline",
///                       "test_value", "ratio", "low", "high", "within_runs": {"low", "high",
///                       "assumed_run_spread"} or null, "estimator", "n", "margin", "verdict", "reason",
///                       "p", "more_pairs", "problem", "percentiles": [...], "modes": {"baseline": MODES,
///                       "test": MODES, "matched": [{"ratio", "low", "high", "share_change",
///                       "share_change_low", "share_change_high"}], "share_effect": {"ratio", "low",
///                       "high"} or null} or null}],
///      "correction": "holm" or "benjamini-hochberg",
///      "answer": [sentence],
///      "gate": {"exit", "sentence", "missing", "counts": {verdict: number}} or null}
///
/// MODES as in a record ("groups" is empty if unimodal), medians in the comparison's unit. The verdict uses
/// "low" and "high"; "within_runs" excludes the assumed run-to-run spread. Ratios are test over baseline.
/// Unknown values are null.
void write_diff_json(const DiffReport& report, const std::function<void(std::string_view)>& write);

}  // namespace headroom
