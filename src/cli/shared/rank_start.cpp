// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/rank_start.h"

#include <fmt/format.h>

#include "cli/shared/interrupt.h"
#include "cli/shared/known_runners.h"
#include "cli/shared/python_runner.h"
#include "headroom/base/error.h"
#include "headroom/ranks/rank_hello.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/worker.h"

namespace headroom::cli {
namespace {

/// The runner of ranks that is Python with PyTorch.
constexpr const char* kPytorch = "pytorch";

/// OpenBLAS, where that is the machine's BLAS, takes a thread for each CPU unless told before it is loaded:
/// libtorch, when told of threads, does not tell it.
constexpr const char* kBlasThreads = "OPENBLAS_NUM_THREADS";

RankCommand command_of(const RankStart& start, const std::string& runner) {
  RankCommand command;
  if (runner == kPytorch) {
    PythonProgram python = python_program("pytorch_ranks");
    command.arguments = std::move(python.words);
    command.environment = std::move(python.environment);
  } else {
    // One of ours by its name alone lies beside this program.
    const std::string ours = runner.find('/') == std::string::npos ? find_runner(runner) : "";
    command.arguments = {ours.empty() ? runner : ours};
  }
  command.environment.emplace_back(kRankArgumentsVariable, start.arguments);
  if (!environment_variable(kBlasThreads)) {
    command.environment.emplace_back(kBlasThreads, std::to_string(start.threads));
  }
  command.channel_variable = kSocketVariable;
  command.ranks = start.ranks;
  command.port = start.port;
  return command;
}

}  // namespace

std::string launcher_of(const RankStart& start) {
  return start.place ? start.place->launcher : "headroom";
}

void require_launched(const std::optional<RankPlace>& place, int asked) {
  if (!place || asked == 0 || asked == place->size) return;
  throw Error(
      fmt::format("--ranks {}, but {} started {}: leave --ranks out under a launcher, or unset its variables",
                  asked, place->launcher, place->size));
}

void settle_rank_programs(RankStart& start, const std::string& command) {
  if (start.place && start.runners.size() > 1) {
    throw Error(
        fmt::format("{} programs of ranks, but {} starts one of each: compare them without a launcher",
                    start.runners.size(), start.place->launcher));
  }
  if (!start.runners.empty()) return;
  start.runners = {find_runner("headroom-torch-rank")};
  if (!start.runners.front().empty()) return;
  throw Error(
      command +
      " needs headroom-torch-rank, which is neither beside this program nor in PATH; it is built where "
      "libtorch is found: apt-get install libtorch-dev, then make build");
}

RankGroup start_ranks(const RankStart& start, const std::string& runner,
                      const std::function<bool()>& give_up) {
  if (!start.place) return RankGroup(command_of(start, runner));
  auto ranks = lead_ranks(*start.place, command_of(start, runner), start.timeout, give_up);
  if (!ranks) throw Interrupted{};
  return std::move(*ranks);
}

ExitCode follow(const RankStart& start) {
  const std::atomic<int>& interrupts = interrupt_count();
  try {
    follow_leader(*start.place, command_of(start, start.runners.front()), start.timeout,
                  [&] { return interrupts > 0; });
  } catch (const RankLost&) {
    return ExitCode::kCannot;  // rank 0 was told
  }
  return interrupts > 0 ? ExitCode::kInterrupted : ExitCode::kFine;
}

}  // namespace headroom::cli
