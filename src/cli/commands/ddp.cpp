// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ddp.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/commands/ddp_collectives.h"
#include "cli/commands/ddp_collectives_options.h"
#include "cli/commands/ddp_options.h"
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
#include "headroom/schedule/ddp_records.h"
#include "headroom/schedule/ddp_run.h"

namespace headroom::cli {
namespace {

std::shared_ptr<const Environment> environment_of(const Arguments& arguments, const DdpOptions& options,
                                                  const RankHello& hello) {
  Environment environment = rank_environment("ddp", arguments, options.start, hello);
  environment.extra_info["seed"] = std::to_string(options.sweep.base.seed);
  environment.extra_info["distributed_backend"] = options.sweep.base.backend;
  environment.extra_info["warmup"] = std::to_string(options.limits.warmup);
  return std::make_shared<const Environment>(std::move(environment));
}

void list_models(const RankHello& hello) {
  Table table({{"model"}, {"what it is"}, {"trained by default"}});
  for (const RankHello::Model& model : hello.models)
    table.row({model.name, model.summary, model.by_default ? "yes" : ""});
  print_table(table, stdout);
}

/// Throws Error for a name that is none.
void require_models(const RankHello& hello, const std::vector<std::string>& asked) {
  std::vector<std::string> all;
  for (const RankHello::Model& model : hello.models) all.push_back(model.name);
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
    return run_rank_job([this](const auto& give_up) { measure(give_up); }, [this] { report(); },
                        [this] { return verdict(); });
  }

 private:
  void measure(const std::function<bool()>& give_up) {
    RankGroup ranks = start_ranks(options_.start, options_.start.runners.front(), give_up);
    DdpRun run(ranks, options_.limits, give_up);
    const RankHello& hello = run.hellos().front();
    if (options_.list) {
      list_models(hello);
      return ranks.finish(kRankEnd);
    }
    require_models(hello, options_.sweep.models);
    library_ = hello.library;
    environment_ = environment_of(arguments_, options_, hello);
    TerminalProgress progress([](const std::vector<Record>&) {});
    const std::vector<DdpStep> steps = ddp_plan(options_.sweep);
    for (std::size_t i = 0; i < steps.size() && !give_up(); ++i) {
      measure_step(run, steps[i], [&](Progress shown) {
        shown.group = i;
        shown.groups = steps.size();
        progress.progress(shown);
      });
    }
    ranks.finish(kRankEnd);
  }

  /// Also of a step that a rank was lost at, the iterations before that are kept.
  void measure_step(DdpRun& run, const DdpStep& step, const std::function<void(const Progress&)>& show) {
    DdpResult result;
    measure_and_keep(
        result.stop, [&] { run.measure(step, result, show); }, [&] { keep(result); });
  }

  void keep(const DdpResult& result) {
    const std::vector<Record> more = ddp_records(result, library_, environment_);
    records_.insert(records_.end(), more.begin(), more.end());
    files_.write_so_far(records_);
    if (writes_report()) write_file_atomically(options_.json, seed_report());
  }

  bool writes_report() const { return !options_.json.empty() && options_.json != "-"; }
  std::string seed_report() const { return ddp_seed_report(records_, library_, options_.sweep.base.backend); }

  void tell_traces() const {
    if (options_.sweep.trace.empty()) return;
    std::fprintf(stderr,
                 "headroom: traces are in %s; headroom trace FOLDER reads those of a folder as one job\n",
                 options_.sweep.trace.c_str());
  }

  void report() {
    if (records_.empty()) return;
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
  std::shared_ptr<const Environment> environment_;
  std::vector<Record> records_;
};

void warn_of_shared_cpus(const DdpOptions& options) {
  const auto cpus = allowed_cpus().size();
  const int here = options.start.place ? options.start.place->local_size.value_or(1) : options.start.ranks;
  const auto wanted = static_cast<std::size_t>(here) * static_cast<std::size_t>(options.sweep.base.threads);
  if (wanted <= cpus) return;
  std::fprintf(
      stderr,
      "headroom: warning: %d ranks of %d thread%s share %zu CPU%s: ranks wait for each other to compute, and "
      "scaling looks worse than it is\n",
      here, options.sweep.base.threads, options.sweep.base.threads == 1 ? "" : "s", cpus,
      cpus == 1 ? "" : "s");
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
