// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <set>

#include "cli/commands/ddp_collectives.h"
#include "cli/commands/ddp_collectives_options.h"
#include "cli/commands/ddp_options.h"
#include "cli/shared/known_runners.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/rank_measurement.h"
#include "cli/shared/say.h"
#include "headroom/base/files.h"
#include "headroom/ranks/collectives/collectives_records.h"
#include "headroom/ranks/ddp/ddp_records.h"
#include "headroom/ranks/ddp/ddp_seed_report.h"
#include "headroom/ranks/ddp/ddp_table.h"

namespace headroom::cli {
namespace {

/// Sizes at which an all-reduce alone is timed, beside those of the buckets, and the largest of the latter.
constexpr std::int64_t kReducedBytes[] = {4 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr std::int64_t kMostReducedBytes = 64 << 20;
/// Calls of each.
constexpr std::size_t kReductions = 12;

class DdpMeasurement final : public RankMeasurement {
 public:
  DdpMeasurement(const Arguments& arguments, const DdpOptions& options)
      : RankMeasurement("ddp", arguments, options), options_(options) {
    if (writes_report()) require_writable(options_.report);
  }

 private:
  StringMap provenance() const override { return {{"warmup", std::to_string(options_.warmup)}}; }
  void adjust(SessionRequest& request) const override {
    request.warmup = static_cast<std::uint32_t>(options_.warmup);
    if (options_.limits) request.limit_runners = limit_runners_of(options_.start.runners);
  }
  void list(const RunnerOffer& ranks) const override { models(ranks).list(); }

  static RankExperiments models(const RunnerOffer& ranks) { return {ranks, kDdpPrefix, "model"}; }

  /// All steps of a model by all runners share their rounds, which makes efficiency a ratio of the same
  /// moments: of a step to the one without DDP, of another runner's to that of the first.
  std::vector<Group> groups(const SessionRequest& request, const std::vector<RunnerOffer>& offers) override {
    models(offers.front()).require(options_.sweep.models);
    std::vector<Group> groups;
    std::vector<int> reducing;
    for (const std::string& model : options_.sweep.models) {
      Group& group = groups.emplace_back(Group{model, {}});
      for (const DdpStep& step : ddp_steps(options_.sweep, model)) {
        const std::size_t first = group.cases.size();
        std::ranges::move(cases_of_step(step, model, request, offers), std::back_inserter(group.cases));
        for (std::size_t i = first + 1; i < group.cases.size(); ++i) group.cases[i].baseline = first;
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

  std::vector<PlannedCase> cases_of_step(const DdpStep& step, const std::string& model,
                                         const SessionRequest& request,
                                         const std::vector<RunnerOffer>& offers) const {
    const std::string name = kDdpPrefix + model;
    AxisTexts point{{"batch_size", std::to_string(options_.batch_size)},
                    {"ranks", std::to_string(step.ranks)},
                    {"ddp", step.ddp ? "yes" : "no"},
                    {"bucket_size", std::to_string(step.bucket_bytes)},
                    {"transport", options_.backend}};
    const auto& all = offers.front().experiments;
    const auto experiment = std::ranges::find(all, name, &ExperimentDescription::name);
    if (std::ranges::find(experiment->axes, "image_size", &Axis::name) != experiment->axes.end())
      point.emplace_back("image_size", std::to_string(options_.image_size));
    std::vector<PlannedCase> cases = cases_of(name, point, options_.sweep.reducer, request, offers);
    for (PlannedCase& one : cases) {
      one.trace = step.trace;
      if (!step.trace.empty() && offers.size() > 1) one.trace += fmt::format("/runner-{}", one.runner);
    }
    return cases;
  }

  std::vector<Record> in_words(const std::vector<Record>& finished) const override {
    const bool trains = !finished.empty() && finished.front().model.name.starts_with(kDdpPrefix);
    if (!trains) return collective_records(finished);
    return ddp_records(finished, ddp_steps(options_.sweep, options_.sweep.models.front()));
  }
  void write_so_far() const override {
    if (writes_report()) write_file_atomically(options_.report, seed_report());
  }
  std::vector<Record> of_all() const override { return collective_lines(records()); }

  bool writes_report() const { return !options_.report.empty() && options_.report != "-"; }
  std::string seed_report() const {
    return ddp_seed_report(records(), ranks().ranks.front().library, options_.backend);
  }

  bool uses_stdout() const override { return RankMeasurement::uses_stdout() || options_.report == "-"; }
  Sheet sheet() override { return ddp_sheet(records()); }
  Table rank_table() const override { return ddp_rank_table(records()); }
  void report_more() override {
    if (options_.report == "-") std::fputs(seed_report().c_str(), stdout);
    if (options_.sweep.trace.empty()) return;
    say("traces are in {}; headroom trace FOLDER reads those of a folder as one job", options_.sweep.trace);
  }

  ExitCode verdict() const override {
    if (const ExitCode code = RankMeasurement::verdict(); code != ExitCode::kFine) return code;
    // What does not fit is the user's to mend.
    return any_outcome(records(), Outcome::Kind::kSkipped) ? ExitCode::kCannot : ExitCode::kFine;
  }

  const DdpOptions& options_;
};

}  // namespace

ExitCode ddp(const Arguments& arguments) {
  if (asks_for_collectives(arguments)) return collectives(arguments);
  const DdpOptions options = parse_ddp_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return DdpMeasurement(arguments, options).run();
}

std::vector<CommandWord> ddp_words() {
  return {{"--collectives", "collectives alone, by size and rank count"}};
}

}  // namespace headroom::cli
