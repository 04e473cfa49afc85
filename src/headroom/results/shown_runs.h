// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {

/// Records shown together, each case once.
struct ShownRun {
  std::string title{};  ///< file or run; empty if all is one run
  std::vector<Record> records{};
  std::string note{};  ///< which runs were joined
};

/// Splits files into runs that do not hide each other's results; a file with repeated cases has several.
/// Joins many runs case by case, if their view is a table of cases. Files without a common case are one run.
std::vector<ShownRun> runs_to_show(std::vector<FileResults> files);

}  // namespace headroom::cli
