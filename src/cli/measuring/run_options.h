// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "cli/measuring/rank_measurement.h"
#include "headroom/console/command.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {

/// What the user asked of `headroom run`.
struct RunOptions {
  SessionRequest request;
  bool list = false;
  bool markdown = false;  ///< the tables
  bool live = false;      ///< show them while they fill in
  bool fail_below_target = false;
  std::string csv, json, oss;  ///< output files; empty: none
  std::string store;           ///< history to append to; empty: none
  bool calibrate_noise = false;
  bool resume = false;  ///< go on with the newest run that was killed; nothing else is set then
  bool retune = false;  ///< choose the variants of the kernels anew
  std::string targets;  ///< targets file; empty: the shipped one
  std::optional<RankStart>
      ranks;  ///< of the job that runs what ranks run; empty: nothing of that is asked for
  std::optional<ExitCode>
      done;  ///< set when help was asked for (and printed) or the usage was wrong (and said so)
};

/// Parses the arguments. Throws Error for values that do not parse; usage errors are printed.
RunOptions parse_run_options(const Arguments& arguments);

}  // namespace headroom::cli
