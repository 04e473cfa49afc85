// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "headroom/compare/diff_report.h"

namespace headroom {

/// The report for programs:
///
///     {"headroom_diff": {"schema": 1}, "baseline": LABEL,
///      "tests": [{"label", "different_machines", "differences": [{"what", "baseline", "test"}],
///                 "geometric_mean_worsening" or null, "only_baseline": [CASE], "only_test": [CASE]}],
///      "comparisons": [{"test": index, "case", "backend", "metric", "unit", "lower_is_better", "baseline",
///      "test_value",
///                       "ratio", "low", "high", "estimator", "n", "margin", "verdict", "p", "more_pairs",
///                       "problem", "percentiles": [...],
///                       "modes": {"baseline": MODES, "test": MODES, "matched": [{"ratio", "low", "high",
///                       "share_change", "share_change_low", "share_change_high"}],
///                       "share_effect": {"ratio", "low", "high"} or null} or null}],
///      "correction": "holm" or "benjamini-hochberg",
///      "answer": [sentence],
///      "gate": {"exit", "sentence", "missing", "counts": {verdict: number}} or null}
///
/// MODES as in a record ("groups" is empty where the samples are one group), medians in the unit of the
/// comparison. Ratios are test over baseline of the metric; numbers that there are not are null. Handed to
/// `write` piece by piece, one comparison on each line: there may be very many.
void write_diff_json(const DiffReport& report, const std::function<void(std::string_view)>& write);

}  // namespace headroom
