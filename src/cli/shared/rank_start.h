// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/ranks/rank_relay.h"

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

}  // namespace headroom::cli
