// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Records of one side with one record for each case, backend, runner and metric.
struct JoinedRecords {
  std::vector<Record> records;     ///< in the order of first appearance
  std::vector<std::string> notes;  ///< what was joined or left out, each a sentence
};

/// Joins the records that have the same identity() and runner: they are separate runs of one case, so the
/// samples of the later ones are appended as further processes, and value and interval are those of all.
/// Records that hold one number and no samples count as one value of a process of their own; where others of
/// the case hold samples, they are left out and a note says so. One that was not measured gives way to one
/// that was. Where the units differ they are converted to the first one's; a unit that cannot be converted is
/// an Error.
JoinedRecords join_duplicates(std::vector<Record> records);

/// Which record of the baseline stands against which of the test. Points into the two vectors given.
struct Matches {
  std::vector<std::pair<const Record*, const Record*>>
      pairs;  ///< baseline, test; in the order of the baseline
  std::vector<const Record*> only_baseline, only_test;
};

/// Matches by identity(), never by position. The runner counts only where one side has several for an
/// identity (two builds measured side by side): then those of the same label are partners. What is left over
/// and stands in another tool's file on one side is matched by what both tell, where that is unambiguous: a
/// report that names no device and no dtype, a command that hyperfine timed.
Matches match_records(const std::vector<Record>& baseline, const std::vector<Record>& test);

}  // namespace headroom
