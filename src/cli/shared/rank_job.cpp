// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/rank_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/shared/interrupt.h"
#include "headroom/base/error.h"
#include "headroom/base/units.h"
#include "headroom/machine/fingerprint.h"
#include "headroom/runner/collective_sizes.h"
#include "headroom/schedule/core_sharing.h"
#include "headroom/schedule/worker.h"

namespace headroom::cli {

Environment rank_environment(const char* command, const Arguments& arguments, const RankStart& start) {
  std::vector<std::string> words{"headroom", command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(words);
  environment.extra_info["launcher"] = launcher_of(start);
  return environment;
}

SessionRequest rank_session(const RankStart& start, RankPatience patience, const StopRule& stop,
                            std::uint64_t seed, const std::string& backend) {
  SessionRequest request;
  for (const std::string& runner : start.runners) {
    RunnerCommand command;
    command.path = runner;
    command.hello_timeout = patience.start;
    command.reply_timeout = patience.reply;
    command.start_ranks = [start, runner] {
      return start_ranks(start, runner, [] { return interrupt_flag().load(); });
    };
    command.rank_backend = backend;
    request.runners.push_back(std::move(command));
  }
  request.selection.threads = start.threads;
  request.selection.caches = Caches::kHot;
  request.selection.seed = seed;
  request.stop = stop;
  // What differs from one job of the same program to the next would pass for a difference of two.
  constexpr int kJobsWhereCompared = 3;
  request.processes = start.runners.size() > 1 ? kJobsWhereCompared : 1;
  request.limits = false;
  request.sample_ns = 1;
  return request;
}

std::vector<RunnerOffer> rank_offers(const Session& session) {
  std::vector<RunnerOffer> offers = session.offers();
  std::erase_if(offers, [](const RunnerOffer& offer) { return offer.only_limits; });
  return offers;
}

const ExperimentDescription& experiment_of(const RunnerOffer& offer, const std::string& name) {
  const auto found = std::ranges::find(offer.experiments, name, &ExperimentDescription::name);
  if (found == offer.experiments.end()) throw Error("runner " + offer.label + " has no " + name);
  return *found;
}

std::string warn_of_core_sharing(const RunnerOffer& ranks) {
  std::string warning = core_sharing(ranks.ranks);
  if (!warning.empty()) std::fprintf(stderr, "headroom: warning: %s\n", warning.c_str());
  return warning;
}

Group collective_group(const std::string& op, std::int64_t bytes, const std::string& dtype,
                       const std::vector<int>& ranks, const SessionRequest& request,
                       const std::vector<RunnerOffer>& offers) {
  Group group{fmt::format("{} of {}", op, format_bytes(static_cast<double>(bytes))), {}};
  for (const int count : ranks) {
    const AxisTexts point{{"bytes", std::to_string(collective_bytes(op, bytes, dtype, count))},
                          {"ranks", std::to_string(count)},
                          {"dtype", dtype}};
    for (std::size_t runner = 0; runner < offers.size(); ++runner) {
      group.cases.push_back(
          planned_case(runner, experiment_of(offers[runner], op), point, "gloo", request.selection));
    }
  }
  return group;
}

ExitCode run_rank_job(const std::function<void()>& measure, const std::function<void()>& report,
                      const std::function<ExitCode()>& verdict) {
  std::string lost;
  try {
    measure();
  } catch (const RankLost& loss) {
    lost = loss.what();
  } catch (const Interrupted&) {
  }
  report();
  if (!lost.empty()) throw Error(lost);
  return interrupt_flag() ? tell_interrupted() : verdict();
}

}  // namespace headroom::cli
