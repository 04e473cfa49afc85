// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "headroom/console/completion.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// The regular files below a folder that are wanted, in no order. Throws Error where it cannot be listed.
std::vector<std::filesystem::path> files_below(
    const std::filesystem::path& folder, const std::function<bool(const std::filesystem::path&)>& is_wanted);

/// The records of one file.
struct FileResults {
  std::filesystem::path path;
  std::vector<Record> records;
};

struct FolderResults {
  std::vector<FileResults> files;
  std::vector<std::string> warnings;  ///< files that could not be read, each a sentence
};

/// All *.json, *.jsonl and *.csv in the folder and below it, also as .gz and .zst, in the order of their
/// paths, of any format that headroom reads. A file that cannot be read gives a warning. Throws Error: no
/// such file, none that can be read.
FolderResults results_in_folder(const std::filesystem::path& folder);

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

/// A ValueSource that adds the newest runs of the history, as "@ID".
void add_run_candidates(Completes what, const Arguments& words, Candidates& found);

}  // namespace headroom::cli
