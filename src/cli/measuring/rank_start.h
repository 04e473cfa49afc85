// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/measuring/stop_options.h"
#include "headroom/console/command.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/ranks/rank_relay.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// The ranks of a command that measures with several processes.
struct RankStart {
  std::optional<RankPlace> place;  ///< what a launcher gave us; nothing: the ranks are started here
  int ranks = 1;
  std::uint16_t port = 0;  ///< where they meet; 0: any
  /// The programs of a rank, each of them a job of its own; "pytorch" is Python with PyTorch.
  std::vector<std::string> runners;
  int threads = 1;        ///< that an operator may use in each
  std::string arguments;  ///< what all ranks of a launcher must have been asked alike; they greet with it
  std::chrono::milliseconds timeout{60'000};  ///< for them to come
};

/// "headroom", or the launcher that started the ranks.
std::string launcher_of(const RankStart& start);

/// Throws Error where a launcher started another number of ranks than `asked` (0: nothing was asked).
void require_launched(const std::optional<RankPlace>& place, int asked);

/// Takes headroom-torch-rank where no program was asked for. Throws Error where it is not found, or a
/// launcher's ranks would have to be of several programs; `command` is who needs it ("dispatch").
void settle_rank_programs(RankStart& start, const std::string& command);

/// Starts the ranks, or leads those of a launcher. Throws Interrupted where `give_up` says so, RankLost,
/// Error.
RankGroup start_ranks(const RankStart& start, const std::string& runner,
                      const std::function<bool()>& give_up);

/// The command of a rank that is not rank 0, under another launcher: silent, unless it fails before there is
/// a leader to tell.
ExitCode follow(const RankStart& start);

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
