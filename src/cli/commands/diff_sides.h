// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/commands/diff_options.h"
#include "headroom/compare/diff_report.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// One operand, ready to be matched.
struct DiffSide {
  std::string label;
  std::vector<Record> records;
  std::vector<std::string> metrics;  ///< of all its records, for messages
};

/// What an operand of a comparison gives: its records as the options select them, runs of one case joined.
/// Says what was joined or could not be read. Throws Error where nothing is left.
DiffSide read_side(const std::string& operand, const DiffOptions& options);

/// The cases of each test against those of the baseline, judged and sorted as the options say. Points into
/// the sides. Throws Error where a gate is asked for and the sides are of two machines.
DiffReport compare_sides(const DiffSide& baseline, const std::vector<DiffSide>& tests,
                         const DiffOptions& options);

}  // namespace headroom::cli
