// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// Returns a letter for each reason to distrust a result ("US"); empty without one.
std::string noise_marks(const Record& record);

/// Explains the letters in `marks`, one line each.
std::string marks_legend(std::string_view marks);

/// Explains marks that all rows have, one sentence each: "  all rows: ...".
std::string all_rows_legend(std::string_view marks);

/// Makes the table of `headroom run`: a row for each case and backend with the median time and its interval,
/// the headline metric, the share of the limit, target and verdict, and noise marks. Lines below a row give
/// the reason of a skipped or failed case, the error of a wrong answer that was timed, the error and its
/// bound for sums in less than f32, and the ratio to another row of the case (Record::ratio). Two more
/// columns give the GPU shares of traced cases.
Table run_table(const std::vector<Record>& records);

/// Explains missing intervals, noise marks and GPU columns of run_table(records); empty if there are none.
std::string run_legend(const std::vector<Record>& records);

/// Makes the means over shapes by experiment, backend and dtype, as PyTorch's gpt-fast benchmark reports
/// them, of headroom's own experiments.
Table mean_table(const std::vector<Record>& records);

/// For each case of several backends or runners a line that says who needs the least time, and so is nearest
/// the limit of the problem, which of the others comes next, and by how much (the interval where the nearest
/// is the one that all are compared with):
///   nearest the limit: gemv D=4096 bf16: native (88.1 % ±0.6), then onednn_packed: 1.312 x the time (1.297
///   to 1.330)
/// Empty where nothing is compared. A line each, with its end.
std::string nearest_limit_text(const std::vector<Record>& records);

/// Makes the output of `headroom run`: results against targets, limits and each other, with warnings; then
/// run_table(), the explanation of its marks, and the means over shapes.
Sheet run_sheet(const std::vector<Record>& records);

/// Adds a sentence for each doubt in the noise marks of `measured`: a busy machine, capped sampling. `rows`
/// names the rows: "cases".
void answer_doubts(Sheet& sheet, const std::vector<const Record*>& measured, const char* rows);

}  // namespace headroom
