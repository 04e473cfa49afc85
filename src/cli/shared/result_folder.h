// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom::cli {

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

}  // namespace headroom::cli
