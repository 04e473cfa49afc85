// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "cli/shared/stop_options.h"
#include "headroom/ranks/rank_conversation.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

class OptionTable;

/// What every command whose work ranks do is asked for.
struct RankOptions {
  RankStart start;
  RankPatience patience;
  StopRule stop;                 ///< of what shares its rounds
  std::uint64_t seed = 1;        ///< of data, parameters and orders
  std::string backend = "gloo";  ///< by which ranks exchange data, or "nccl"
  bool limits = false;           ///< of the machine, in the same rounds
  bool list = false, per_rank = false;
  std::string json, oss;         ///< records
  std::string store;             ///< history to append to; empty: none
  std::optional<ExitCode> done;  ///< help was printed, or usage was wrong and said so
};

/// What of it was given as text.
struct RawRankOptions {
  StopOptions stop;
  std::string timeout;
  bool quick = false, no_store = false, no_limits = false;
};

/// --threads, --seed, --port, --runner and --timeout.
void declare_ranks(OptionTable& table, RawRankOptions& raw, RankOptions& options);
/// --no-limits, of those that sample what the machine can do.
void declare_limits(OptionTable& table, RawRankOptions& raw, RankOptions& options);
/// --per-rank and the history.
void declare_rank_output(OptionTable& table, RawRankOptions& raw, RankOptions& options);

/// Fills in what the texts say, and the program of a rank. Throws Error; `command` is who asks ("ddp").
void settle_ranks(const RawRankOptions& raw, RankOptions& options, const std::string& command);

/// How long ranks may take to start and to answer, from what --timeout said (empty: the default). Throws
/// Error.
RankPatience rank_patience(const std::string& timeout);

}  // namespace headroom::cli
