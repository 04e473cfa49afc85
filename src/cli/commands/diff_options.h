// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "headroom/compare/verdict.h"

namespace headroom::cli {

struct DiffOptions {
  std::string baseline;
  std::vector<std::string> tests;
  bool ddp_form = false;  ///< --format ddp
  bool markdown = false;
  std::string json;                  ///< file, "-", or empty
  std::vector<std::string> metrics;  ///< empty: one row a case
  bool all_metrics = false;
  std::string filter;  ///< regular expression on the name of the case; empty: all
  enum class Sort { kNone, kName, kRatio, kTime } sort = Sort::kNone;
  std::vector<double> percentiles;
  bool shift = false;
  bool gate = false;
  std::vector<TailMargin> tails;  ///< of the gate
  JudgeRule judge;
  std::optional<double> run_spread;  ///< that the user states, as a share
  bool across_machines = false;
  std::string confirm;     ///< command that measures a regression again; empty: none
  std::string max_memory;  ///< --max-memory as given
  std::string store;       ///< history that '@...' operands are runs of
};

/// Nothing where the command ends here, with `done` set: help was shown, or the usage was wrong.
/// Throws Error: a margin that is none, a gate file that cannot be read.
std::optional<DiffOptions> parse_diff_options(const Arguments& arguments, ExitCode& done);

}  // namespace headroom::cli
