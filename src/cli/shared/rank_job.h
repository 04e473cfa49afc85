// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/shared/rank_start.h"
#include "headroom/ranks/rank_conversation.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {

/// How the engine starts the ranks of `runner` and waits for them; `backend` is what they exchange data by.
RunnerCommand rank_command(const RankStart& start, const std::string& runner, RankPatience patience,
                           const std::string& backend = "gloo");

/// The jobs of ranks, without what is there for the limits of the machine.
std::vector<RunnerOffer> rank_offers(const Session& session);

/// What a job of ranks has by the names after `prefix` ("ddp."): `kind` is what these are ("model").
class RankExperiments {
 public:
  RankExperiments(const RunnerOffer& ranks, std::string_view prefix, const char* kind);

  /// The names that are taken where none is asked for.
  std::vector<std::string> by_default() const;
  /// Throws Error for a name that is none, with the nearest.
  void require(const std::vector<std::string>& names) const;
  /// Prints what there is.
  void list() const;

 private:
  std::vector<ExperimentDescription> all_;  // by these names
  std::string kind_;
};

/// `experiment` at `point` by each runner. Throws Error where one of them has none of that name.
std::vector<PlannedCase> cases_of(const std::string& experiment, const AxisTexts& point,
                                  const std::string& backend, const SessionRequest& request,
                                  const std::vector<RunnerOffer>& offers);

/// A collective of one size by all of these rank counts and runners, which share their rounds.
Group collective_group(const std::string& op, std::int64_t bytes, const std::string& dtype,
                       const std::vector<int>& ranks, const SessionRequest& request,
                       const std::vector<RunnerOffer>& offers);

}  // namespace headroom::cli
