// SPDX-License-Identifier: Apache-2.0
#include "cli/collectives_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "cli/collectives_options.h"
#include "cli/interrupt.h"
#include "cli/record_files.h"
#include "cli/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/machine/fingerprint.h"
#include "headroom/report/collectives_table.h"
#include "headroom/schedule/collectives_records.h"
#include "headroom/schedule/core_sharing.h"
#include "headroom/schedule/worker.h"

namespace headroom::cli {
namespace {

constexpr std::chrono::milliseconds kEnd{10'000};

std::shared_ptr<const Environment> environment_of(const Arguments& arguments,
                                                  const CollectivesOptions& options, const RankHello& hello) {
  std::vector<std::string> command{"headroom", "ddp"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(command);
  environment.extra_info["seed"] = std::to_string(options.seed);
  environment.extra_info["precision"] = fmt::format("{:g}", options.limits.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.limits.stop.max_time_ns / 1e9);
  environment.extra_info["launcher"] = launcher_of(options.start);
  environment.dependencies["libtorch"].version = hello.library.substr(hello.library.find(' ') + 1);
  return std::make_shared<const Environment>(std::move(environment));
}

/// One sweep: what was found so far is kept whatever ends it.
class Sweep {
 public:
  Sweep(const Arguments& arguments, const CollectivesOptions& options)
      : arguments_(arguments), options_(options), files_(options.json, options.oss) {}

  ExitCode run(const std::atomic<bool>& interrupted) {
    std::string lost;
    try {
      measure([&] { return interrupted.load(); });
    } catch (const RankLost& loss) {
      lost = loss.what();
    } catch (const Interrupted&) {
    }
    if (!records_.empty()) report();
    if (!lost.empty()) throw Error(lost);
    if (interrupted) {
      std::fputs("headroom: interrupted; what had been measured is above and in the files\n", stderr);
      return ExitCode::kInterrupted;
    }
    const bool any_failed = std::ranges::any_of(
        records_, [](const Record& record) { return record.outcome.kind == Outcome::Kind::kFailed; });
    return any_failed ? ExitCode::kNo : ExitCode::kFine;
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
    ranks.finish(kEnd);
  }

  /// Also of a collective that a rank was lost at, the calls before that are kept.
  void measure_one(CollectivesRun& run, const CollectiveSetup& setup,
                   const std::function<void(const Progress&)>& show) {
    CollectiveResult result;
    try {
      run.measure(setup, result, show);
    } catch (const RankLost&) {
      result.stop = StopReason::kRunnerLost;
      keep(result);
      throw;
    } catch (const Interrupted&) {
      result.stop = StopReason::kInterrupted;
      keep(result);
      throw;
    }
    keep(result);
  }

  void keep(const CollectiveResult& result) {
    for (Record& record : collective_records(result, library_, environment_)) {
      if (!warning_.empty()) record.notes.push_back(warning_);
      records_.push_back(std::move(record));
    }
    files_.write_so_far(records_);
  }

  void report() {
    // Records on standard output are for a program to read: the tables make way.
    std::FILE* out = files_.uses_stdout() ? stderr : stdout;
    std::fputs(collectives_report(records_).c_str(), out);
    if (options_.per_rank) std::fprintf(out, "\n%s", collectives_rank_report(records_).c_str());
    files_.finish(records_);
    append_to_history(records_, options_.store);
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
  return Sweep(arguments, options).run(interrupt_flag());
}

}  // namespace headroom::cli
