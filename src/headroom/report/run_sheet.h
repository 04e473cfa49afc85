// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// A reason to distrust a result, or something to know of it. In the order shown.
enum class Mark : std::uint8_t {
  kWrong,
  kAboveLimit,
  kBusy,
  kQuota,
  kLimitUnstable,
  kOtherPages,
  kStolen,
  kThrottled,
  kCapped,
  kWarmedUp,
  kModes,
  kRecompiled,
  kInterrupted,
  kRunnerLost,
};
inline constexpr std::size_t kMarkCount = 14;

/// Marks by index.
using NoiseMarks = std::bitset<kMarkCount>;
inline bool has_mark(const NoiseMarks& marks, Mark mark) {
  return marks[static_cast<std::size_t>(mark)];
}

NoiseMarks noise_marks(const Record& record);

/// Returns the letters of the marks: "US"; empty without one.
std::string letters(const NoiseMarks& marks);
/// Returns "B  busy: other programs ..." for each mark.
std::vector<std::string> mark_meanings(const NoiseMarks& marks);

/// Explains the letters of the marks, one line each.
std::string marks_legend(const NoiseMarks& marks);
/// Explains marks that all rows have, one sentence each: "  in every row: ...".
std::string all_rows_legend(const NoiseMarks& marks);

/// Makes the table of `headroom run`: a row for each case and backend with the median time and its interval,
/// the headline metric, the share of the limit, target and verdict, and noise marks. Lines below a row give
/// the reason of a skipped or failed case, the error of a wrong answer that was timed, the error and its
/// bound for sums in less than f32, and the ratio to another row of the case (Record::ratio). Two more
/// columns give the GPU shares of traced cases.
Table run_table(const std::vector<Record>& records);

/// Explains missing intervals, noise marks and GPU columns of run_table(records); empty if there are none.
std::string run_legend(const std::vector<Record>& records);

/// Makes the means over shapes by experiment, backend and dtype, as PyTorch's gpt-fast benchmark reports
/// them, of headroom's own experiments that have several.
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
