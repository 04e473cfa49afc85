// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Unique by case, backend, runner and metric.
struct JoinedRecords {
  std::vector<Record> records;
  std::vector<std::string> notes;  ///< what was joined or dropped, one sentence each
};

/// Joins separate runs of one case (equal identity() and runner): samples become further processes; value and
/// interval are estimated again. A record without samples counts as one value, or is dropped with a note if
/// others have samples. Measured records replace others. Converts to the first's unit; throws Error if
/// impossible.
JoinedRecords join_duplicates(std::vector<Record> records);

/// Points into the vectors given to match_records.
struct Matches {
  std::vector<std::pair<const Record*, const Record*>> pairs;  ///< baseline and test, in the baseline's order
  std::vector<const Record*> only_baseline, only_test;
};

/// Matches by identity(), never by position. The runner counts only if one side has several (two builds
/// measured together). Records of other tools match by common fields, if unambiguous; between two files of
/// one tool, an axis missing on one side must have the value shared by that file, or a neutral one.
Matches match_records(const std::vector<Record>& baseline, const std::vector<Record>& test);

}  // namespace headroom
