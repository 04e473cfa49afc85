// SPDX-License-Identifier: Apache-2.0
#include "cli/collectives_command.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "cli/collectives_options.h"
#include "cli/print_table.h"
#include "cli/rank_job.h"
#include "cli/record_files.h"
#include "cli/terminal_progress.h"
#include "headroom/report/collectives_table.h"
#include "headroom/schedule/collectives_records.h"
#include "headroom/schedule/core_sharing.h"

namespace headroom::cli {
namespace {

std::shared_ptr<const Environment> environment_of(const Arguments& arguments,
                                                  const CollectivesOptions& options, const RankHello& hello) {
  Environment environment = rank_environment("ddp", arguments, options.start, hello);
  environment.extra_info["seed"] = std::to_string(options.seed);
  environment.extra_info["precision"] = fmt::format("{:g}", options.limits.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.limits.stop.max_time_ns / 1e9);
  return std::make_shared<const Environment>(std::move(environment));
}

/// One sweep: what was found so far is kept whatever ends it.
class Sweep {
 public:
  Sweep(const Arguments& arguments, const CollectivesOptions& options)
      : arguments_(arguments), options_(options), files_(options.json, options.oss) {}

  ExitCode run() {
    return run_rank_job([this](const auto& give_up) { measure(give_up); }, [this] { report(); },
                        [this] { return verdict(); });
  }

 private:
  void measure(const std::function<bool()>& give_up) {
    RankGroup ranks = start_ranks(options_.start, give_up);
    CollectivesRun run(ranks, options_.limits, give_up);
    warning_ = core_sharing(run.hellos());
    if (!warning_.empty()) std::fprintf(stderr, "headroom: warning: %s\n", warning_.c_str());
    library_ = run.hellos().front().library;
    environment_ = environment_of(arguments_, options_, run.hellos().front());
    TerminalProgress progress([](const std::vector<Record>&) {});
    for (std::size_t i = 0; i < options_.plan.size() && !give_up(); ++i) {
      measure_one(run, options_.plan[i], [&](Progress shown) {
        shown.group = i;
        shown.groups = options_.plan.size();
        progress.progress(shown);
      });
    }
    ranks.finish(kRankEnd);
  }

  /// Also of a collective that a rank was lost at, the calls before that are kept.
  void measure_one(CollectivesRun& run, const CollectiveSetup& setup,
                   const std::function<void(const Progress&)>& show) {
    CollectiveResult result;
    measure_and_keep(
        result.stop, [&] { run.measure(setup, result, show); }, [&] { keep(result); });
  }

  void keep(const CollectiveResult& result) {
    for (Record& record : collective_records(result, library_, environment_)) {
      if (!warning_.empty()) record.notes.push_back(warning_);
      records_.push_back(std::move(record));
    }
    files_.write_so_far(records_);
  }

  void report() {
    if (records_.empty()) return;
    // Records on standard output are for a program to read: the tables make way.
    std::FILE* out = files_.uses_stdout() ? stderr : stdout;
    std::fputs(collectives_report(records_, terminal_width(out)).c_str(), out);
    if (options_.per_rank)
      std::fprintf(out, "\n%s", collectives_rank_report(records_, terminal_width(out)).c_str());
    files_.finish(records_);
    append_to_history(records_, options_.store);
  }

  ExitCode verdict() const {
    return any_outcome(records_, Outcome::Kind::kFailed) ? ExitCode::kNo : ExitCode::kFine;
  }

  const Arguments& arguments_;
  const CollectivesOptions& options_;
  RecordFiles files_;
  std::string library_, warning_;
  std::shared_ptr<const Environment> environment_;
  std::vector<Record> records_;
};

}  // namespace

ExitCode collectives(const Arguments& arguments) {
  const CollectivesOptions options = parse_collectives_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return Sweep(arguments, options).run();
}

}  // namespace headroom::cli
