// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/rank_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/measuring/progress.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/output.h"
#include "headroom/environment/fingerprint.h"
#include "headroom/process/affinity.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/record/environment.h"
#include "headroom/schedule/runner.h"

namespace headroom::cli {
namespace {

/// What differs from one job of the same program to the next would pass for a difference of two.
constexpr int kJobsWhereCompared = 8;

std::shared_ptr<const Environment> environment_of(const char* command, const Arguments& arguments,
                                                  const RankOptions& options, StringMap provenance) {
  std::vector<std::string> words{"headroom", command};
  words.insert(words.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(words);
  StringMap& info = environment.extra_info;
  info["launcher"] = launcher_of(options.start);
  info["seed"] = std::to_string(options.seed);
  info["distributed_backend"] = options.backend;
  info["precision"] = fmt::format("{:g}", options.stop.precision);
  if (std::isfinite(options.stop.max_time_ns))
    info["max_time_s"] = fmt::format("{:g}", options.stop.max_time_ns / 1e9);
  info.merge(provenance);
  return std::make_shared<const Environment>(std::move(environment));
}

}  // namespace

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

RankMeasurement::RankMeasurement(const char* command, const Arguments& arguments, const RankOptions& options)
    : command_(command), arguments_(arguments), options_(options), files_(options.json, options.oss) {}

ExitCode RankMeasurement::run() {
  std::string lost;
  try {
    measure();
  } catch (const RankLost& loss) {
    lost = loss.what();
  } catch (const Interrupted&) {
  }
  if (!records_.empty()) report();
  if (!lost.empty()) throw Error(lost);
  return interrupt_flag() ? tell_interrupted() : verdict();
}

SessionRequest RankMeasurement::request() const {
  SessionRequest request;
  for (const std::string& runner : options_.start.runners)
    request.runners.push_back(rank_command(options_.start, runner, options_.patience, options_.backend));
  request.selection.default_threads = options_.start.threads;
  request.selection.caches = Caches::kHot;
  request.selection.seed = options_.seed;
  request.stop = options_.stop;
  request.processes = options_.start.runners.size() > 1 ? kJobsWhereCompared : 1;
  request.limits = options_.limits;
  request.sample_ns = 1;
  adjust(request);
  return request;
}

void RankMeasurement::measure() {
  const SessionRequest request = this->request();
  Session session(request, environment_of(command_, arguments_, options_, provenance()), interrupt_flag());
  ranks_ = session.offers().front();
  if (options_.list) return list(ranks_);
  const std::string shared = core_sharing(ranks_.ranks, options_.start.threads, allowed_cpus().size());
  if (!shared.empty()) say("warning: {}", shared);
  journal_.begin(*session.environment(), session.labels());
  const auto on_records = [&](const std::vector<Record>& finished) {
    std::vector<Record> records = in_words(finished);
    for (Record& record : records) {
      if (!shared.empty() && record.metric.headline) record.notes.push_back(shared);
    }
    journal_.finish_group(records);
    std::ranges::move(records, std::back_inserter(records_));
    write_if_possible([this] {
      write_each({[this] { files_.write_so_far(records_); }, [this] { write_so_far(); }});
    });
  };
  TerminalProgress progress(on_records, [this](const GroupResult& so_far) { journal_.note(so_far); });
  session.run(groups(request, rank_offers(session)), progress);
}

void RankMeasurement::report() {
  std::ranges::move(of_all(), std::back_inserter(records_));
  Sheet shown = sheet();
  if (options_.per_rank) shown.table(rank_table());
  print_sheet(shown.notes(reference_blas_text(records_), Tone::kBad), uses_stdout() ? stderr : stdout);
  report_more();
  keep_results(records_, options_.store, journal_, [this] {
    write_each({[this] { files_.finish(records_); }, [this] { write_so_far(); }});
  });
}

ExitCode RankMeasurement::verdict() const {
  return any_outcome(records_, Outcome::Kind::kFailed) ? ExitCode::kNo : ExitCode::kFine;
}

}  // namespace headroom::cli
