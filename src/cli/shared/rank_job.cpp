// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/rank_job.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "headroom/base/error.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/ranks/collectives/collective_sizes.h"

namespace headroom::cli {

RunnerCommand rank_command(const RankStart& start, const std::string& runner, RankPatience patience,
                           const std::string& backend) {
  RunnerCommand command;
  command.path = runner;
  command.hello_timeout = patience.start;
  command.reply_timeout = patience.reply;
  command.start_ranks = [start, runner] {
    return start_ranks(start, runner, [] { return interrupt_flag().load(); });
  };
  command.rank_backend = backend;
  return command;
}

std::vector<RunnerOffer> rank_offers(const Session& session) {
  std::vector<RunnerOffer> offers = session.offers();
  std::erase_if(offers, [](const RunnerOffer& offer) { return offer.only_limits; });
  return offers;
}

RankExperiments::RankExperiments(const RunnerOffer& ranks, std::string_view prefix, const char* kind)
    : kind_(kind) {
  for (const ExperimentDescription& experiment : ranks.experiments) {
    if (!experiment.name.starts_with(prefix)) continue;
    all_.push_back(experiment);
    all_.back().name.erase(0, prefix.size());
  }
}

std::vector<std::string> RankExperiments::by_default() const {
  std::vector<std::string> names;
  for (const ExperimentDescription& one : all_) {
    if (!one.is_on_request) names.push_back(one.name);
  }
  return names;
}

void RankExperiments::require(const std::vector<std::string>& names) const {
  std::vector<std::string> known;
  for (const ExperimentDescription& one : all_) known.push_back(one.name);
  for (const std::string& name : names) {
    if (std::ranges::find(known, name) != known.end()) continue;
    throw Error(fmt::format("no {} {}{}; there are {}", kind_, in_quotes(name), did_you_mean(name, known),
                            join(known, ", ")));
  }
}

void RankExperiments::list() const {
  Table table({{kind_}, {"what it is"}, {"measured by default"}});
  for (const ExperimentDescription& one : all_)
    table.row({one.name, one.summary, one.is_on_request ? "" : "yes"});
  print_table(table, stdout);
}

std::vector<PlannedCase> cases_of(const std::string& experiment, const AxisTexts& point,
                                  const std::string& backend, const SessionRequest& request,
                                  const std::vector<RunnerOffer>& offers) {
  std::vector<PlannedCase> cases;
  for (std::size_t runner = 0; runner < offers.size(); ++runner) {
    const std::vector<ExperimentDescription>& all = offers[runner].experiments;
    const auto found = std::ranges::find(all, experiment, &ExperimentDescription::name);
    if (found == all.end()) throw Error("runner " + offers[runner].label + " has no " + experiment);
    cases.push_back(
        planned_case(runner, *found, point, backend, request.selection.default_threads, request.selection));
  }
  return cases;
}

Group collective_group(const std::string& op, std::int64_t bytes, const std::string& dtype,
                       const std::vector<int>& ranks, const SessionRequest& request,
                       const std::vector<RunnerOffer>& offers) {
  Group group{fmt::format("{} of {}", op, format_bytes(static_cast<double>(bytes))), {}};
  for (const int count : ranks) {
    const AxisTexts point{{"bytes", std::to_string(collective_bytes(op, bytes, dtype, count))},
                          {"ranks", std::to_string(count)},
                          {"dtype", dtype}};
    for (PlannedCase& one : cases_of(op, point, "gloo", request, offers))
      group.cases.push_back(std::move(one));
  }
  return group;
}

}  // namespace headroom::cli
