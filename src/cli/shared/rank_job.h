// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "headroom/record/environment.h"
#include "headroom/runner/rank_hello.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/schedule/session.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// What a rank has to end in once nothing more is asked of it.
inline constexpr std::chrono::milliseconds kRankEnd{10'000};

/// Where the records of a job of ranks come from: `headroom COMMAND` with its arguments, who started the
/// ranks, and their libtorch (with `hello`).
Environment rank_environment(const char* command, const Arguments& arguments, const RankStart& start);
Environment rank_environment(const char* command, const Arguments& arguments, const RankStart& start,
                             const RankHello& hello);

/// What the engine is asked for to measure on these ranks: a sample is one iteration, without limits of the
/// machine; in one job, in three of each program where several are compared.
SessionRequest rank_session(const RankStart& start, RankPatience patience, const StopRule& stop,
                            std::uint64_t seed, const std::string& backend = "gloo");
/// Throws Error where the runner has none of that name.
const ExperimentDescription& experiment_of(const RunnerOffer& offer, const std::string& name);
/// Says, on standard error too, which ranks share a core; empty where none do.
std::string warn_of_core_sharing(const RunnerOffer& ranks);

/// One measurement, and what is to be kept of it: `keep` is called whatever ends it, after `stop` says what
/// that was where it was a lost rank or the user. Throws what `measure` throws.
void measure_and_keep(StopReason& stop, const std::function<void()>& measure,
                      const std::function<void()>& keep);

/// A whole job: `measure` asks its argument whether to give up; `report` shows and writes what was kept, also
/// after a rank was lost or the user ended it; `verdict` is the exit code of a job that came to its end.
/// Throws Error that names the lost ranks.
ExitCode run_rank_job(const std::function<void(const std::function<bool()>&)>& measure,
                      const std::function<void()>& report, const std::function<ExitCode()>& verdict);

}  // namespace headroom::cli
