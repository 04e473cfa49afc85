// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/shared/command.h"
#include "headroom/command/parameters.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// What the user asked of `headroom ab` or `headroom time`.
struct CommandOptions {
  std::vector<std::string> lines;  ///< the commands
  std::vector<std::string> words;  ///< instead of a line: a program and its arguments, as they stand after --
  std::vector<std::string> names;
  std::vector<CommandParameter> parameters;
  std::vector<std::string> setup, prepare, conclude, cleanup;  ///< none, one for all, or one for each command
  std::string shell;                                           ///< empty: none
  std::string input, output;                                   ///< output: "null", "pipe", or a file
  bool ignore_failure = false;
  bool markdown = false;  ///< the table
  bool random_environment = true;
  std::chrono::milliseconds timeout{-1};
  StopRule stop;
  std::optional<std::size_t> min_rounds;  ///< nothing: as many as a verdict needs
  bool exact_rounds = false;              ///< --runs
  bool until_decided = true;              ///< no --precision was asked for
  std::uint64_t seed = 1;
  double margin = 0.01;
  std::string json, oss;
  std::vector<std::pair<std::string, std::string>> exports;  ///< format, file
  std::string store;                                         ///< history to append to; empty: none
  std::optional<ExitCode>
      done;  ///< set when help was asked for (and printed) or the usage was wrong (and said so)
};

/// Parses the arguments of `headroom ab` (compares) or `headroom time`. Throws Error for values that do not
/// parse; usage errors are printed.
CommandOptions parse_command_options(const Arguments& arguments, bool compares);

}  // namespace headroom::cli
