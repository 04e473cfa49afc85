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

/// Doubts and remarks, in display order.
enum class CaseFlag : std::uint8_t {
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
inline constexpr std::size_t kFlagCount = 14;

using CaseFlags = std::bitset<kFlagCount>;
inline bool has_flag(const CaseFlags& flags, CaseFlag flag) {
  return flags[static_cast<std::size_t>(flag)];
}

CaseFlags case_flags(const Record& record);
/// The flags that may change what a row says. Not kWarmedUp, as the estimate leaves the warm-up out.
CaseFlags doubts_of(const Record& record);

/// "US", or empty.
std::string flag_letters(const CaseFlags& flags);
/// "B  busy: other programs ..." lines.
std::vector<std::string> flag_meanings(const CaseFlags& flags);

std::string flags_legend(const CaseFlags& flags);
/// "  in every row: ...".
std::string all_rows_legend(const CaseFlags& flags);

/// Table of `headroom run`. Lines below a row: reasons of failure, errors of wrong results, error bounds of
/// sums below f32, Record::ratio.
Table run_table(const std::vector<Record>& records);

/// Explains missing intervals, marks and GPU columns; may be empty.
std::string run_legend(const std::vector<Record>& records);

/// Means by experiment, backend and dtype, as PyTorch's gpt-fast benchmark; only of headroom's experiments
/// with several shapes.
Table mean_table(const std::vector<Record>& records);

/// Returns a line for each case with several backends or runners:
///   nearest the limit: gemv D=4096 bf16: native (88.1 % ±0.6), then onednn_packed: 1.312 x the time (1.297
///   to 1.330)
std::string nearest_limit_text(const std::vector<Record>& records);

View run_view(const std::vector<Record>& records);

/// Adds a sentence for each doubt in the marks. `rows` names the rows: "cases".
void answer_doubts(View& view, const std::vector<const Record*>& measured, const char* rows);

}  // namespace headroom
