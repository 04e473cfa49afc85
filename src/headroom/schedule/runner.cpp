// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/runner.h"

#include "headroom/schedule/rank_runner.h"
#include "headroom/schedule/runner_process.h"

namespace headroom {

std::unique_ptr<Runner> start_runner(const RunnerCommand& command, const std::atomic<bool>& interrupted) {
  if (!command.start_ranks) return std::make_unique<RunnerProcess>(command, interrupted);
  auto ranks = std::make_unique<RankRunner>(
      command.start_ranks(), RankPatience{command.hello_timeout, command.reply_timeout}, interrupted);
  ranks->require_backend(command.rank_backend);
  return ranks;
}

}  // namespace headroom
