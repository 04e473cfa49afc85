// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "headroom/compare/compared_ratio.h"
#include "headroom/compare/diff_report.h"
#include "headroom/compare/verdict.h"
#include "headroom/console/command.h"
#include "headroom/record/record.h"

namespace headroom::cli {

/// Run-to-run spread on one machine, by identity() of a record.
using RunSpreads = std::map<std::string, RunKnowledge>;

/// Of cases that several runs measured. `source` is copied into each.
RunSpreads spreads_of(const std::vector<Record>& records, const std::string& source);

/// From `headroom run --calibrate-noise`; may be empty. Throws Error if the file is damaged.
RunSpreads calibrated_spreads(const std::string& fingerprint);
/// Replaces equal identities in the stored spreads. Returns the file.
std::string store_spreads(const std::string& fingerprint, const RunSpreads& spreads);

/// Of earlier runs on the machine of `test`; may be empty. `store`: empty for the default.
RunSpreads historic_spreads(const std::vector<Record>& test, const std::string& store);

/// Reads all spreads, or only `stated` (a share given by the user). Skips unreadable sources with a warning.
RunSpreads known_spreads(const std::vector<Record>& test, const std::string& store,
                         const std::optional<double>& stated);

struct DiffOptions {
  std::string baseline;
  std::vector<std::string> tests;
  bool ddp_form = false;  ///< --format ddp
  bool markdown = false;
  std::string json;                  ///< file, "-", or empty
  std::vector<std::string> metrics;  ///< empty: one row per case
  bool all_metrics = false;
  std::vector<std::string> higher_is_better,
      lower_is_better;  ///< stated by the user
  std::string filter;   ///< on the case name; empty: all
  enum class Sort { kNone, kName, kRatio, kTime } sort = Sort::kNone;
  std::vector<double> percentiles;
  bool shift = false;
  bool gate = false;
  std::vector<TailMargin> tails;  ///< of the gate
  JudgeRule judge;
  std::optional<double> run_spread;  ///< stated by the user, as a share
  bool across_machines = false;
  std::string confirm;  ///< command that measures regressions again
  std::string max_memory;
  std::string store;  ///< history of '@...' operands
  std::string from;   ///< empty: detected
};

struct DiffSide {
  std::string label;
  std::vector<Record> records;
  std::vector<std::string> metrics;  ///< before selection, for messages
};

/// Selects an operand's records and joins runs of one case. Prints notes; throws Error if nothing is left.
DiffSide read_side(const std::string& operand, const DiffOptions& options);

/// Points into the sides. Throws Error if a gate would compare two machines.
DiffReport compare_sides(const DiffSide& baseline, const std::vector<DiffSide>& tests,
                         const DiffOptions& options);

}  // namespace headroom::cli
