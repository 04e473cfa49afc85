// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "headroom/command/cache_run.h"

namespace headroom::cli {

/// What the user asked of `headroom cache`.
struct CacheOptions {
  std::string suite;                 ///< name or file; "list"; empty for a command
  std::vector<std::string> command;  ///< after "--"
  std::vector<std::string> layers;
  std::vector<std::string> models;
  std::string metric, unit, order, timeout, pytorch;
  OptionValues set;
  int repeat = 0;  ///< 0: the suite's
  bool warm_twice = false;
  bool each_layer = false;
  std::string name;  ///< of a command that is measured
  std::uint64_t seed = 1;
  std::string output;     ///< the file of PyTorch's cachebench.py
  std::string json, oss;  ///< records
  std::string store;      ///< history to append to; empty: none
  bool recover = false;
  std::vector<std::string> ignored;  ///< what --benchmark tolerates
  std::optional<ExitCode> done;      ///< help was printed, or usage was wrong and said so
};

/// Throws Error for values that do not parse; usage errors are printed.
CacheOptions parse_cache_options(const Arguments& arguments);

}  // namespace headroom::cli
