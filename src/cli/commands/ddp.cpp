// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <memory>
#include <set>
#include <string_view>

#include "cli/commands/ddp_collectives.h"
#include "cli/commands/ddp_collectives_options.h"
#include "cli/commands/ddp_options.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/known_runners.h"
#include "cli/shared/print_table.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/record_files.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/process/affinity.h"
#include "headroom/record/blas_dependency.h"
#include "headroom/report/ddp_seed_report.h"
#include "headroom/report/ddp_table.h"
#include "headroom/schedule/collectives_records.h"
#include "headroom/schedule/ddp_records.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {
namespace {

/// Sizes at which an all-reduce alone is timed, beside those of the buckets, and the largest of the latter.
constexpr std::int64_t kReducedBytes[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr std::int64_t kMostReducedBytes = 64 << 20;
/// Calls of each.
constexpr std::size_t kReductions = 12;

std::shared_ptr<const Environment> environment_of(const Arguments& arguments, const DdpOptions& options) {
  Environment environment = rank_environment("ddp", arguments, options.start);
  environment.extra_info["seed"] = std::to_string(options.seed);
  environment.extra_info["distributed_backend"] = options.backend;
  environment.extra_info["warmup"] = std::to_string(options.warmup);
  return std::make_shared<const Environment>(std::move(environment));
}

/// The models that the ranks can train.
std::vector<ExperimentDescription> models_of(const RunnerOffer& ranks) {
  std::vector<ExperimentDescription> found;
  std::ranges::copy_if(ranks.experiments, std::back_inserter(found),
                       [](const auto& experiment) { return experiment.name.starts_with(kDdpPrefix); });
  for (ExperimentDescription& model : found) model.name.erase(0, std::string_view(kDdpPrefix).size());
  return found;
}

void list_models(const RunnerOffer& ranks) {
  Table table({{"model"}, {"what it is"}, {"trained by default"}});
  for (const ExperimentDescription& model : models_of(ranks))
    table.row({model.name, model.summary, model.is_on_request ? "" : "yes"});
  print_table(table, stdout);
}

/// Throws Error for a name that is none.
void require_models(const RunnerOffer& ranks, const std::vector<std::string>& asked) {
  std::vector<std::string> all;
  for (const ExperimentDescription& model : models_of(ranks)) all.push_back(model.name);
  for (const std::string& name : asked) {
    if (std::ranges::find(all, name) != all.end()) continue;
    throw Error("no model " + in_quotes(name) + did_you_mean(name, all) + "; there are " + join(all, ", "));
  }
}

/// One sweep: what was found so far is kept whatever ends it.
class Sweep {
 public:
  Sweep(const Arguments& arguments, const DdpOptions& options)
      : arguments_(arguments), options_(options), files_(options.records, options.oss) {
    if (writes_report()) require_writable(options.json);
  }

  ExitCode run() {
    return run_rank_job([this] { measure(); }, [this] { report(); }, [this] { return verdict(); });
  }

 private:
  void measure() {
    SessionRequest request =
        rank_session(options_.start, options_.patience, options_.stop, options_.seed, options_.backend);
    request.limits = options_.limits;
    if (options_.limits) request.limit_runners = limit_runners_of(options_.start.runners);
    request.warmup = static_cast<std::uint32_t>(options_.warmup);
    Session session(request, environment_of(arguments_, options_), interrupt_flag());
    const RunnerOffer& ranks = session.offers().front();
    library_ = ranks.ranks.front().library;
    if (options_.list) return list_models(ranks);
    require_models(ranks, options_.sweep.models);
    TerminalProgress progress([this](const std::vector<Record>& finished) { keep(finished); });
    session.run(groups_of(request, rank_offers(session)), progress);
  }

  /// All steps of a model share their rounds, which makes efficiency a ratio of the same moments; where
  /// several programs are compared, each step by all of them does.
  std::vector<Group> groups_of(const SessionRequest& request, const std::vector<RunnerOffer>& offers) const {
    std::vector<Group> groups;
    std::vector<int> reducing;
    for (const std::string& model : options_.sweep.models) {
      const std::vector<DdpStep> steps = ddp_steps(options_.sweep, model);
      for (const DdpStep& step : steps) {
        if (offers.size() > 1 || &step == &steps.front())
          groups.push_back({offers.size() > 1 ? model + ", " + step.label : model, {}});
        for (std::size_t runner = 0; runner < offers.size(); ++runner)
          groups.back().cases.push_back(case_of(step, model, runner, request, offers));
        if (step.ranks > 1 && std::ranges::find(reducing, step.ranks) == reducing.end())
          reducing.push_back(step.ranks);
      }
    }
    if (reducing.empty() || options_.backend != "gloo") return groups;
    std::set<std::int64_t> sizes(std::begin(kReducedBytes), std::end(kReducedBytes));
    for (const std::int64_t bytes : options_.sweep.bucket_bytes)
      sizes.insert(std::min(bytes, kMostReducedBytes) / 4 * 4);
    for (const std::int64_t size : sizes) {
      groups.push_back(collective_group("all_reduce", size, "f32", reducing, request, offers));
      groups.back().stop = options_.stop;
      groups.back().stop->min_samples = groups.back().stop->max_samples = kReductions;
    }
    return groups;
  }

  PlannedCase case_of(const DdpStep& step, const std::string& model, std::size_t runner,
                      const SessionRequest& request, const std::vector<RunnerOffer>& offers) const {
    const ExperimentDescription& experiment = experiment_of(offers[runner], kDdpPrefix + model);
    AxisTexts point{{"batch_size", std::to_string(options_.batch_size)},
                    {"ranks", std::to_string(step.ranks)},
                    {"ddp", step.ddp ? "yes" : "no"},
                    {"bucket_size", std::to_string(step.bucket_bytes)},
                    {"transport", options_.backend}};
    if (std::ranges::find(experiment.axes, "image_size", &Axis::name) != experiment.axes.end())
      point.emplace_back("image_size", std::to_string(options_.image_size));
    PlannedCase planned = planned_case(runner, experiment, point, options_.sweep.reducer, request.selection);
    planned.trace = step.trace;
    if (!step.trace.empty() && offers.size() > 1) planned.trace += fmt::format("/runner-{}", runner);
    return planned;
  }

  void keep(const std::vector<Record>& finished) {
    const bool trains = !finished.empty() && finished.front().model.name.starts_with(kDdpPrefix);
    const std::vector<DdpStep> steps = ddp_steps(options_.sweep, options_.sweep.models.front());
    std::ranges::move(trains ? ddp_records(finished, steps) : collective_records(finished),
                      std::back_inserter(records_));
    files_.write_so_far(records_);
    if (writes_report() && trains) write_file_atomically(options_.json, seed_report());
  }

  bool writes_report() const { return !options_.json.empty() && options_.json != "-"; }
  std::string seed_report() const { return ddp_seed_report(records_, library_, options_.backend); }

  void tell_traces() const {
    if (options_.sweep.trace.empty()) return;
    std::fprintf(stderr,
                 "headroom: traces are in %s; headroom trace FOLDER reads those of a folder as one job\n",
                 options_.sweep.trace.c_str());
  }

  void report() {
    if (records_.empty()) return;
    std::ranges::move(collective_lines(records_), std::back_inserter(records_));
    // What goes to standard output for a program to read is alone there: the tables make way.
    std::FILE* out = files_.uses_stdout() || options_.json == "-" ? stderr : stdout;
    std::fputs(ddp_table(records_, terminal_width(out)).c_str(), out);
    if (options_.per_rank) std::fprintf(out, "\n%s", ddp_rank_table(records_, terminal_width(out)).c_str());
    std::fputs(reference_blas_text(records_).c_str(), out);
    if (options_.json == "-") std::fputs(seed_report().c_str(), stdout);
    files_.finish(records_);
    append_to_history(records_, options_.store);
    tell_traces();
  }

  ExitCode verdict() const {
    if (any_outcome(records_, Outcome::Kind::kFailed)) return ExitCode::kNo;
    // What does not fit is the user's to mend.
    return any_outcome(records_, Outcome::Kind::kSkipped) ? ExitCode::kCannot : ExitCode::kFine;
  }

  const Arguments& arguments_;
  const DdpOptions& options_;
  RecordFiles files_;
  std::string library_;
  std::vector<Record> records_;
};

void warn_of_shared_cpus(const DdpOptions& options) {
  const auto cpus = allowed_cpus().size();
  const int here = options.start.place ? options.start.place->local_size.value_or(1) : options.start.ranks;
  const auto wanted = static_cast<std::size_t>(here) * static_cast<std::size_t>(options.start.threads);
  if (wanted <= cpus) return;
  std::fprintf(
      stderr,
      "headroom: warning: %d ranks of %d thread%s share %zu CPU%s: ranks wait for each other to compute, and "
      "scaling looks worse than it is\n",
      here, options.start.threads, options.start.threads == 1 ? "" : "s", cpus, cpus == 1 ? "" : "s");
}

}  // namespace

ExitCode ddp(const Arguments& arguments) {
  if (asks_for_collectives(arguments)) return collectives(arguments);
  const DdpOptions options = parse_ddp_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  if (!options.list) warn_of_shared_cpus(options);
  return Sweep(arguments, options).run();
}

std::vector<CommandWord> ddp_words() {
  return {{"--collectives", "collectives alone, by size and rank count"}};
}

}  // namespace headroom::cli
