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

/// A reason to distrust a result, or a remark on it, in display order.
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

using NoiseMarks = std::bitset<kMarkCount>;
inline bool has_mark(const NoiseMarks& marks, Mark mark) {
  return marks[static_cast<std::size_t>(mark)];
}

NoiseMarks noise_marks(const Record& record);

/// Returns "US", or an empty text.
std::string letters(const NoiseMarks& marks);
/// Returns lines "B  busy: other programs ...".
std::vector<std::string> mark_meanings(const NoiseMarks& marks);

std::string marks_legend(const NoiseMarks& marks);
/// Returns "  in every row: ...".
std::string all_rows_legend(const NoiseMarks& marks);

/// Makes the table of `headroom run`. Lines below a row give reasons of failure, errors of wrong results,
/// error bounds of sums below f32, and Record::ratio.
Table run_table(const std::vector<Record>& records);

/// Explains missing intervals, marks and GPU columns; may be empty.
std::string run_legend(const std::vector<Record>& records);

/// Makes means by experiment, backend and dtype, as PyTorch's gpt-fast benchmark; only of headroom's
/// experiments with several shapes.
Table mean_table(const std::vector<Record>& records);

/// Returns a line for each case with several backends or runners:
///   nearest the limit: gemv D=4096 bf16: native (88.1 % ±0.6), then onednn_packed: 1.312 x the time (1.297
///   to 1.330)
std::string nearest_limit_text(const std::vector<Record>& records);

Sheet run_sheet(const std::vector<Record>& records);

/// Adds a sentence for each doubt in the marks. `rows` names the rows: "cases".
void answer_doubts(Sheet& sheet, const std::vector<const Record*>& measured, const char* rows);

}  // namespace headroom
