// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/rank_start.h"
#include "headroom/record/environment.h"
#include "headroom/schedule/rank_conversation.h"
#include "headroom/schedule/session.h"
#include "headroom/stats/stopping.h"

namespace headroom::cli {

/// Where the records of a job of ranks come from: `headroom COMMAND` with its arguments, and who started the
/// ranks.
Environment rank_environment(const char* command, const Arguments& arguments, const RankStart& start);

/// What the engine is asked for to measure on these ranks: a sample is one iteration, without limits of the
/// machine; in one job, in three of each program where several are compared.
SessionRequest rank_session(const RankStart& start, RankPatience patience, const StopRule& stop,
                            std::uint64_t seed, const std::string& backend = "gloo");
/// The jobs of ranks, without what is there for the limits of the machine.
std::vector<RunnerOffer> rank_offers(const Session& session);
/// Throws Error where the runner has none of that name.
const ExperimentDescription& experiment_of(const RunnerOffer& offer, const std::string& name);
/// Says, on standard error too, which ranks share a core; empty where none do.
std::string warn_of_core_sharing(const RunnerOffer& ranks);

/// A collective of one size by all of these rank counts and runners, which share their rounds.
Group collective_group(const std::string& op, std::int64_t bytes, const std::string& dtype,
                       const std::vector<int>& ranks, const SessionRequest& request,
                       const std::vector<RunnerOffer>& offers);

/// A whole job: `report` shows and writes what was kept of it, also after a rank was lost or the user ended
/// it; `verdict` is the exit code of a job that came to its end. Throws Error that names the lost ranks.
ExitCode run_rank_job(const std::function<void()>& measure, const std::function<void()>& report,
                      const std::function<ExitCode()>& verdict);

}  // namespace headroom::cli
