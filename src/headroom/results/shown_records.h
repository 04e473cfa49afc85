// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "headroom/compare/verdict.h"
#include "headroom/record/record.h"
#include "headroom/results/record_files.h"
#include "headroom/tables/table.h"

namespace headroom::cli {

/// View by the instrument that made the records; several are stacked. Throws Error for an invalid run
/// description.
View shown_records(const std::vector<Record>& records);

/// Compares with the first of the group, by the margin in the environment.
std::vector<RoundComparison> judged_commands(const std::vector<Record>& records);

struct InstrumentRecords {
  const char* kind;  ///< "run" (also the default), "cache", "dispatch", "ddp", "collectives"
  std::vector<Record> records;
  View view;
};

/// Groups in order of appearance; a DDP sweep includes its collectives. Throws as shown_records() does.
std::vector<InstrumentRecords> group_by_instrument(std::vector<Record> records);

/// Whether the view has rows that can join several runs.
bool shows_cases(const std::vector<Record>& records);

/// Records shown together, each case once.
struct ShownRun {
  std::string title{};  ///< file or run; empty if all is one run
  std::vector<Record> records{};
  std::string note{};  ///< which runs were joined
};

/// Splits files into runs that do not hide each other's results (repeated cases) and joins many runs case by
/// case, if their view is a table of cases. Files without a common case are one run.
std::vector<ShownRun> runs_to_show(std::vector<FileResults> files);

}  // namespace headroom::cli
