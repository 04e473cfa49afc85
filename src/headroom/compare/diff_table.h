// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/base/sheet.h"
#include "headroom/compare/diff_report.h"

namespace headroom {

/// A row for each case and metric: the baseline, and for each test its value, the ratio test / baseline with
/// its interval, and the verdict. The lines below a row say why there is no ratio, or how many more pairs it
/// takes.
Table diff_table(const DiffReport& report);

/// The percentiles asked for, one row each; no rows where none were, or no case has samples.
Table percentile_table(const DiffReport& report);

/// The shift function of each case with samples, below a sentence on it (shift_sentence); no rows where none
/// was asked for.
Table shift_table(const DiffReport& report);

/// What was different when the two sides were measured; no rows where nothing was.
Table environment_table(const DiffReport& report);

/// What comes first: two machines, the answer of the gate, how many cases regressed, improved or are the
/// same, and which changed most.
void answer_diff(Sheet& sheet, const DiffReport& report);

/// What stands below the table: what has no partner, the geometric mean, how verdicts were found.
std::string diff_summary(const DiffReport& report);

}  // namespace headroom
