// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

/// Names the results of the newest command that measured and did not end.
inline constexpr const char* kUnfinished = "@unfinished";

/// What an operand of `headroom diff` gave.
struct OperandRecords {
  std::vector<Record> records;
  std::vector<std::string> warnings;  ///< files of a folder that could not be read, each a sentence
};

/// A file of any format that headroom reads; or a folder: all *.json, *.jsonl and *.csv in it and below, also
/// as .gz and .zst, in the order of their names; or "@last", "@ID", "@git:REV" for a run of the history
/// `store`, or kUnfinished. Files of a folder that cannot be read give a warning. Throws Error: no such file,
/// nothing in it that can be read, no records, no history, more memory needed than --max-memory allows.
OperandRecords records_of_operand(const std::string& operand, const std::string& store,
                                  const std::string& max_memory);

}  // namespace headroom::cli
