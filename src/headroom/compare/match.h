// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Records of one side, at most one for each case, backend, runner and metric.
struct JoinedRecords {
  std::vector<Record> records;     ///< in the order of first appearance
  std::vector<std::string> notes;  ///< what was joined or dropped, one sentence each
};

/// Joins records with equal identity() and runner, which are separate runs of one case. Appends the samples
/// of later ones as further processes, and estimates value and interval from all of them. A record with a
/// value and no samples counts as one value of its own process, or is dropped with a note if other records of
/// the case have samples. Measured records replace unmeasured ones. Converts units to the first record's;
/// throws Error if that is impossible.
JoinedRecords join_duplicates(std::vector<Record> records);

/// Matching records of baseline and test. Points into the two vectors given.
struct Matches {
  std::vector<std::pair<const Record*, const Record*>>
      pairs;  ///< baseline, test; in the order of the baseline
  std::vector<const Record*> only_baseline, only_test;
};

/// Matches by identity(), never by position. The runner counts only if one side has several for an identity
/// (two builds measured together): equal labels then match. Remaining records from another tool's file are
/// matched by the fields that both have, if that is unambiguous: a report without device and dtype, a command
/// timed by hyperfine. Of two files of one other tool, an axis that one side lacks must have the value that
/// all of that file shares, or a neutral one if the file does not have the setting.
Matches match_records(const std::vector<Record>& baseline, const std::vector<Record>& test);

}  // namespace headroom
