// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/measuring/rank_measurement.h"
#include "headroom/console/option_table.h"
#include "headroom/results/record_files.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {

struct RunOptions {
  SessionRequest request;
  bool list = false;
  bool markdown = false;
  bool live = false;  ///< redraw the tables during the run
  bool fail_below_target = false;
  std::optional<double> gate;  ///< margin of the cases against the first backend or runner
  std::string csv, json, oss;  ///< files, or empty
  Exports exports;
  std::string store;  ///< history to append to, or empty
  bool calibrate_noise = false;
  bool resume = false;             ///< of the newest killed run; other members are not set
  bool retune = false;             ///< ignore stored variant choices
  std::string targets;             ///< empty: the shipped file
  std::optional<RankStart> ranks;  ///< set if ranks run an experiment
};

/// The options of `headroom run`. Its action throws Error for invalid values.
OptionTable run_table(std::function<ExitCode(const RunOptions&)> action);

}  // namespace headroom::cli
