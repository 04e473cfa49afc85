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

/// One test against the baseline.
struct DiffTest {
  std::string label;  ///< the operand: a file, a directory, a run
  EnvironmentDifferences environment;
  std::vector<const Record*> only_baseline, only_test;
};

/// Results of `headroom diff`. Does not own the records.
struct DiffReport {
  std::string baseline;  ///< label
  std::vector<DiffTest> tests;
  std::vector<Comparison> comparisons;  ///< judged; of all tests, in display order
  Multiplicity multiplicity = Multiplicity::kBenjaminiHochberg;
  std::vector<double> percentiles;  ///< from 0 to 100; empty if not requested
  bool shift = false;               ///< show the shift function of each case
  std::optional<GateAnswer> gate;
};

/// Makes a row for each case and metric: the baseline's value, and for each test its value, the ratio test /
/// baseline with its interval, and the verdict. Lines below a row tell why there is no ratio, or how many
/// more pairs are needed.
Table diff_table(const DiffReport& report);

/// Makes a row for each requested percentile; empty without such a request or samples.
Table percentile_table(const DiffReport& report);

/// Makes the shift function of each case with samples, below a sentence on it; empty unless requested.
Table shift_table(const DiffReport& report);

/// Lists the differences of the environments.
Table environment_table(const DiffReport& report);

/// Adds the first sentences: different machines, the answer of the gate, the numbers of regressions,
/// improvements and unchanged cases, and the largest changes.
void answer_diff(Sheet& sheet, const DiffReport& report);

/// Returns the text below the table: unmatched cases, the geometric mean, the method of the verdicts.
std::string diff_summary(const DiffReport& report);

/// The report for programs:
///
///     {"headroom_diff": {"schema": 1}, "baseline": LABEL,
///      "tests": [{"label", "different_machines", "differences": [{"what", "baseline", "test"}],
///                 "geometric_mean_worsening" or null, "only_baseline": [CASE], "only_test": [CASE]}],
///      "comparisons": [{"test": index, "case", "backend", "metric", "unit", "lower_is_better", "baseline",
///      "test_value",
///                       "ratio", "low", "high", "within_runs": {"low", "high", "assumed_run_spread"} or
///                       null, "estimator", "n", "margin", "verdict", "reason" why it is inconclusive, "p",
///                       "more_pairs", "problem", "percentiles": [...], "modes": {"baseline": MODES, "test":
///                       MODES, "matched": [{"ratio", "low", "high", "share_change", "share_change_low",
///                       "share_change_high"}], "share_effect": {"ratio", "low", "high"} or null} or null}],
///      "correction": "holm" or "benjamini-hochberg",
///      "answer": [sentence],
///      "gate": {"exit", "sentence", "missing", "counts": {verdict: number}} or null}
///
/// MODES as in a record ("groups" is empty where the samples are one group), medians in the unit of the
/// comparison. "low" and "high" are what the verdict is made by; "within_runs" is the interval without the
/// assumed run-to-run spread. "lower_is_better" is null if nobody knows. Ratios are test over baseline of the
/// metric; numbers that there are not are null. Handed to `write` piece by piece, one comparison on each
/// line: there may be very many.
void write_diff_json(const DiffReport& report, const std::function<void(std::string_view)>& write);

}  // namespace headroom
