// SPDX-License-Identifier: Apache-2.0
#include "cli/measuring/rank_measurement.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cli/measuring/progress.h"
#include "cli/measuring/runners.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/console/interrupt.h"
#include "headroom/console/option_table.h"
#include "headroom/console/output.h"
#include "headroom/console/program.h"
#include "headroom/process/affinity.h"
#include "headroom/ranks/collectives/collectives.h"
#include "headroom/record/environment.h"
#include "headroom/runner/protocol.h"
#include "headroom/schedule/runner.h"

namespace headroom::cli {
namespace {

constexpr const char* kPytorch = "pytorch";

/// OpenBLAS uses a thread per CPU unless this is set before loading; libtorch does not set it.
constexpr const char* kBlasThreads = "OPENBLAS_NUM_THREADS";

RankCommand command_of(const RankStart& start, const std::string& runner) {
  RankCommand command;
  if (runner == kPytorch) {
    PythonProgram python = python_program("pytorch_ranks");
    command.arguments = std::move(python.words);
    command.environment = std::move(python.environment);
  } else {
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

/// Hides variation between jobs.
constexpr int kJobsWhereCompared = 8;

Environment environment_of(const char* command, const Arguments& arguments, const RankOptions& options) {
  Environment environment = measuring_environment(command, arguments, options.seed, options.stop.max_time_ns,
                                                  options.stop.precision);
  environment.extra_info["launcher"] = launcher_of(options.start);
  environment.extra_info["distributed_backend"] = options.backend;
  environment.options.per_rank = options.per_rank;
  return environment;
}

}  // namespace

std::string launcher_of(const RankStart& start) {
  return start.place ? start.place->launcher : "headroom";
}

void require_launched(const std::optional<RankPlace>& place, int asked) {
  if (!place || asked == 0 || asked == place->size) return;
  throw Error(
      fmt::format("--ranks {}, but {} started {}: leave out --ranks under a launcher, or unset its variables",
                  asked, place->launcher, place->size));
}

void resolve_rank_programs(RankStart& start, const std::string& command) {
  if (start.place && start.runners.size() > 1) {
    throw Error(fmt::format("{} rank programs, but {} starts only one: compare them without a launcher",
                            start.runners.size(), start.place->launcher));
  }
  if (!start.runners.empty()) return;
  start.runners = {find_program_of_ours("headroom-torch-rank")};
  if (!start.runners.front().empty()) return;
  throw Error(command +
              " needs headroom-torch-rank, not found next to this program or in PATH; to build it: headroom "
              "install torch, or apt-get install libtorch-dev, then make build");
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
    return ExitCode::kError;  // rank 0 reports it
  }
  return interrupts > 0 ? ExitCode::kInterrupted : ExitCode::kSuccess;
}

void declare_ranks(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  RankStart& start = options.start;
  table.add_option("--threads", start.threads, "threads of an operator in each rank (default 1)")
      .range(1, 4096);
  table.add_option("--seed", options.seed,
                   "seed of the data, the parameters and the order of samples (default 1)");
  table.add_option("--timeout", raw.timeout,
                   "maximum time for the ranks to start, and to answer (default 60s)");
  table
      .add_option("--port", start.port,
                  "port on which the ranks meet; another one if it is in use (default: any)")
      .range(1, 65535);
  table
      .add_option("--runner", start.runners,
                  "program of a rank, or pytorch for the Python one (default: headroom-torch-rank); repeat "
                  "to compare")
      .repeated()
      .completed_by(Completes::kFile);
}

void declare_limits(OptionTable& table, RankOptions& options) {
  options.limits = true;
  table.add_flag("!--no-limits", options.limits, "do not sample this machine's limits");
}

void declare_rank_output(OptionTable& table, RawRankOptions& raw, RankOptions& options) {
  table.add_flag("--per-rank", options.per_rank, "show the medians of each rank");
  declare_store(table, options.store, raw.no_store);
}

void resolve_ranks(const RawRankOptions& raw, RankOptions& options, const std::string& command) {
  options.timeouts = rank_timeouts(raw.timeout);
  options.run_time_ns = run_time_ns(raw.stop);
  resolve_rank_programs(options.start, command);
  options.start.timeout = options.timeouts.start;
  resolve_store(options.store, raw.no_store);
}

RankTimeouts rank_timeouts(const std::string& timeout) {
  RankTimeouts timeouts;
  if (timeout.empty()) return timeouts;
  const double timeout_ns = parse_time_ns(timeout);
  if (timeout_ns < 1e6) throw Error("--timeout " + timeout + " must be at least 1 ms");
  timeouts.start = timeouts.reply = std::chrono::milliseconds(static_cast<std::int64_t>(timeout_ns / 1e6));
  return timeouts;
}

RunnerCommand rank_command(const RankStart& start, const std::string& runner, RankTimeouts timeouts,
                           const std::string& backend) {
  RunnerCommand command;
  command.path = runner;
  command.hello_timeout = timeouts.start;
  command.reply_timeout = timeouts.reply;
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
    throw Error(fmt::format("unknown {} {}{}; available are {}", kind_, quote(name),
                            did_you_mean(name, known), join(known, ", ")));
  }
}

void RankExperiments::list() const {
  Table table(Columns().left({kind_}).text("description", Cut::kEnd).left({"measured by default"}));
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

SessionRequest RankMeasurement::request() const {
  SessionRequest request;
  for (const std::string& runner : options_.start.runners)
    request.runners.push_back(rank_command(options_.start, runner, options_.timeouts, options_.backend));
  request.selection.default_threads = options_.start.threads;
  request.selection.caches = Caches::kHot;
  request.selection.seed = options_.seed;
  request.selection.names = names();
  request.stop = options_.stop;
  request.run_time_ns = options_.run_time_ns;
  request.processes = options_.start.runners.size() > 1 ? kJobsWhereCompared : 1;
  request.limits = options_.limits;
  request.sample_ns = 1;
  adjust(request);
  return request;
}

void RankMeasurement::measure() {
  const SessionRequest request = this->request();
  Environment environment = environment_of(command_, arguments_, options_);
  complete(environment);
  Session session(request, std::make_shared<const Environment>(std::move(environment)), interrupt_flag());
  const std::vector<RunnerOffer> offers = rank_offers(session);
  if (!offers.empty()) ranks_ = offers.front();
  if (options_.list) return list(ranks_);
  const std::string shared = core_sharing(ranks_.ranks, options_.start.threads, allowed_cpus().size());
  if (!shared.empty()) print_message("warning: {}", shared);
  journal().begin(*session.environment(), session.labels());
  const auto on_records = [&](const std::vector<Record>& finished) {
    std::vector<Record> records = instrument_records(finished);
    for (Record& record : records) {
      if (!shared.empty() && record.metric.headline) record.notes.push_back(shared);
    }
    add(records);
  };
  TerminalProgress progress(on_records, [this](const GroupResult& so_far) { journal().note(so_far); });
  session.run(offers.empty() ? std::vector<Group>() : groups(request, offers), progress);
}

}  // namespace headroom::cli
