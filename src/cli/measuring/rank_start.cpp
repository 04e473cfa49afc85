// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/rank_start.h"

#include <fmt/format.h>

#include "cli/measuring/runners.h"
#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/program.h"
#include "headroom/results/record_files.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/runner.h"

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
    const std::string ours = runner.find('/') == std::string::npos ? find_program_of_ours(runner) : "";
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
  start.runners = {find_program_of_ours("headroom-torch-rank")};
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

void declare_ranks(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  RankStart& start = options.start;
  table.add_option("--threads", start.threads, "threads of an operator in each rank (default 1)")
      .range(1, 4096);
  table.add_option("--seed", options.seed,
                   "of the data, the parameters and the order of samples (default 1)");
  table.add_option("--timeout", raw.timeout, "most time for the ranks to start, and to answer (default 60s)");
  table
      .add_option("--port", start.port,
                  "where the ranks meet; another is taken where it is in use (default: any)")
      .range(1, 65535);
  table
      .add_option(
          "--runner", start.runners,
          "the program of a rank, or pytorch for that of Python (default: headroom-torch-rank); repeat it to "
          "compare")
      .repeated()
      .completed_by(Completes::kFile);
}

void declare_limits(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  options.limits = true;
  table.add_flag("--no-limits", raw.no_limits, "do not sample what this machine can do");
}

void declare_rank_output(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  table.add_flag("--per-rank", options.per_rank, "show the medians of each rank");
  declare_store(table, options.store, raw.no_store);
}

void settle_ranks(const RawRankOptions& raw, RankOptions& options, const std::string& command) {
  options.patience = rank_patience(raw.timeout);
  settle_rank_programs(options.start, command);
  options.start.timeout = options.patience.start;
  if (raw.no_limits) options.limits = false;
  settle_store(options.store, raw.no_store);
}

RankPatience rank_patience(const std::string& timeout) {
  RankPatience patience;
  if (timeout.empty()) return patience;
  const double timeout_ns = parse_time_ns(timeout);
  if (timeout_ns < 1e6) throw Error("--timeout " + timeout + " is below 1 ms");
  patience.start = patience.reply = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_ns / 1e6));
  return patience;
}

}  // namespace headroom::cli
