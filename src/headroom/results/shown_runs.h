// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/results/record_files.h"

namespace headroom::cli {

/// Records that are shown as one: each case once.
struct ShownRun {
  std::string title{};  ///< the file, or the run of the history; empty if all is one run
  std::vector<Record> records{};
  std::string note{};  ///< which runs were joined, a sentence; empty if none
};

/// Tells runs of the same cases apart, so that no result hides another: a file is a run, or several if it
/// holds a case several times. Few runs are shown one by one. Many are joined case by case, if a table of
/// cases is how they are shown. Files without a case in common are one run.
std::vector<ShownRun> runs_to_show(std::vector<FileResults> files);

}  // namespace headroom::cli
