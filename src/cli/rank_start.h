// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "headroom/process/rank_group.h"
#include "headroom/process/rank_relay.h"

namespace headroom::cli {

/// The ranks of a command that measures with several processes.
struct RankStart {
  std::optional<RankPlace> place;  ///< what a launcher gave us; nothing: the ranks are started here
  int ranks = 1;
  std::uint16_t port = 0;  ///< where they meet; 0: any
  std::string runner;      ///< the program of a rank
  int threads = 1;         ///< that an operator may use in each
  std::string arguments;   ///< what all ranks of a launcher must have been asked alike; they greet with it
  std::chrono::milliseconds timeout{60'000};  ///< for them to come
};

/// "headroom", or the launcher that started the ranks.
std::string launcher_of(const RankStart& start);

/// Throws Error where a launcher started another number of ranks than `asked` (0: nothing was asked).
void require_launched(const std::optional<RankPlace>& place, int asked);

/// `asked`, or headroom-torch-rank where it is found. Throws Error; `command` is who needs it ("dispatch").
std::string rank_program(const std::string& asked, const std::string& command);

/// Starts the ranks, or leads those of a launcher. Throws Interrupted where `give_up` says so, RankLost,
/// Error.
RankGroup start_ranks(const RankStart& start, const std::function<bool()>& give_up);

/// The command of a rank that is not rank 0, under another launcher: silent, unless it fails before there is
/// a leader to tell.
ExitCode follow(const RankStart& start);

}  // namespace headroom::cli
