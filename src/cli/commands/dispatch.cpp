// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "cli/dispatch_options.h"
#include "cli/print_table.h"
#include "cli/rank_job.h"
#include "cli/record_files.h"
#include "cli/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/compare/dispatch_expectations.h"
#include "headroom/record/blas_dependency.h"
#include "headroom/report/dispatch_table.h"
#include "headroom/schedule/core_sharing.h"
#include "headroom/schedule/dispatch_records.h"
#include "headroom/schedule/dispatch_run.h"

namespace headroom::cli {
namespace {

using Expectations = std::vector<DispatchExpectation>;

std::shared_ptr<const Environment> environment_of(const Arguments& arguments, const DispatchOptions& options,
                                                  const RankHello& hello) {
  Environment environment = rank_environment("dispatch", arguments, options.start, hello);
  environment.extra_info["seed"] = std::to_string(options.setup.seed);
  environment.extra_info["precision"] = fmt::format("{:g}", options.limits.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.limits.stop.max_time_ns / 1e9);
  environment.extra_info["repeats"] = std::to_string(options.setup.repeats);
  environment.extra_info["distributed_backend"] = options.setup.backend;
  if (!hello.no_counters.empty()) environment.extra_info["hardware_counters"] = "none: " + hello.no_counters;
  return std::make_shared<const Environment>(std::move(environment));
}

void list_operators(const RankHello& hello) {
  Table table({{"operator"}, {"what it is"}, {"measured by default"}});
  for (const RankHello::Op& op : hello.ops) table.row({op.name, op.summary, op.by_default ? "yes" : ""});
  print_table(table, stdout);
}

/// What to measure: what was asked for, or the default panel. Throws Error for a name that is none.
std::vector<std::string> chosen_ops(const RankHello& hello, const std::vector<std::string>& asked) {
  std::vector<std::string> all, by_default;
  for (const RankHello::Op& op : hello.ops) {
    all.push_back(op.name);
    if (op.by_default) by_default.push_back(op.name);
  }
  for (const std::string& name : asked) {
    if (std::ranges::find(all, name) != all.end()) continue;
    throw Error("no operator " + in_quotes(name) + did_you_mean(name, all) + "; there are " +
                join(all, ", "));
  }
  return asked.empty() ? by_default : asked;
}

Expectations read_expectations(const DispatchOptions& options) {
  if (options.expect.empty()) return {};
  if (options.expect == "pytorch") return pytorch_dispatch_expectations();
  if (options.update_expect) {
    require_writable(options.expect);
    if (!std::filesystem::exists(options.expect)) return {};
  }
  return parse_dispatch_expectations(read_file(options.expect), options.expect);
}

/// One measurement: what was found so far is kept whatever ends it.
class Measurement {
 public:
  Measurement(const Arguments& arguments, const DispatchOptions& options)
      : arguments_(arguments),
        options_(options),
        files_(options.json, options.oss),
        expectations_(read_expectations(options)) {}

  ExitCode run() {
    return run_rank_job([this](const auto& give_up) { measure(give_up); }, [this] { report(); },
                        [this] { return verdict(); });
  }

 private:
  void measure(const std::function<bool()>& give_up) {
    RankGroup ranks = start_ranks(options_.start, give_up);
    DispatchRun run(ranks, options_.setup, options_.limits, give_up);
    if (const std::string shared = core_sharing(run.hellos()); !shared.empty()) {
      std::fprintf(stderr, "headroom: warning: %s\n", shared.c_str());
    }
    const RankHello& hello = run.hellos().front();
    if (options_.list) {
      list_operators(hello);
      return ranks.finish(kRankEnd);
    }
    const std::vector<std::string> ops = chosen_ops(hello, options_.ops);
    const auto environment = environment_of(arguments_, options_, hello);
    no_counters_ = hello.no_counters;
    TerminalProgress progress([](const std::vector<Record>&) {});
    for (std::size_t i = 0; i < ops.size() && !give_up(); ++i) {
      measure_op(run, ops[i], hello.library, environment, [&](Progress shown) {
        shown.group = i;
        shown.groups = ops.size();
        progress.progress(shown);
      });
    }
    ranks.finish(kRankEnd);
  }

  /// Also of an operator that a rank was lost at, the cycles before that are kept.
  void measure_op(DispatchRun& run, const std::string& op, const std::string& library,
                  const std::shared_ptr<const Environment>& environment,
                  const std::function<void(const Progress&)>& show) {
    DispatchResult result;
    measure_and_keep(
        result.stop, [&] { run.measure(op, result, show); },
        [&] {
          const std::vector<Record> more = dispatch_records(result, options_.setup, library, environment);
          records_.insert(records_.end(), more.begin(), more.end());
          files_.write_so_far(records_);
        });
  }

  void report() {
    if (records_.empty()) return;
    // Records on standard output are for a program to read: the tables make way.
    std::FILE* out = files_.uses_stdout() ? stderr : stdout;
    std::fputs(dispatch_report(records_, terminal_width(out)).c_str(), out);
    if (!no_counters_.empty()) std::fprintf(out, "  no instructions: %s\n", no_counters_.c_str());
    if (options_.per_rank)
      std::fprintf(out, "\n%s", dispatch_rank_report(records_, terminal_width(out)).c_str());
    std::fputs(reference_blas_text(records_).c_str(), out);
    verdicts_ = judge_expectations(expectations_, records_);
    if (!verdicts_.empty())
      std::fprintf(out, "\n%s", expectation_report(verdicts_, terminal_width(out)).c_str());
    files_.finish(records_);
    append_to_history(records_, options_.store);
  }

  ExitCode verdict() const {
    if (options_.list) return ExitCode::kFine;
    if (any_outcome(records_, Outcome::Kind::kFailed)) return ExitCode::kNo;
    if (options_.update_expect) {
      write_file_atomically(options_.expect,
                            dispatch_expectations_toml(updated_expectations(expectations_, records_)));
      std::fprintf(stderr, "headroom: expectations written to %s\n", options_.expect.c_str());
      return ExitCode::kFine;
    }
    const auto any = [&](ExpectationVerdict::Kind kind) {
      return std::ranges::any_of(verdicts_, [&](const ExpectationVerdict& v) { return v.kind == kind; });
    };
    if (any(ExpectationVerdict::Kind::kOutside)) return ExitCode::kNo;
    return any(ExpectationVerdict::Kind::kUnclear) ? ExitCode::kInconclusive : ExitCode::kFine;
  }

  const Arguments& arguments_;
  const DispatchOptions& options_;
  RecordFiles files_;
  Expectations expectations_;
  std::vector<ExpectationVerdict> verdicts_;
  std::vector<Record> records_;
  std::string no_counters_;
};

}  // namespace

ExitCode dispatch(const Arguments& arguments) {
  const DispatchOptions options = parse_dispatch_options(arguments);
  if (options.done) return *options.done;
  if (options.start.place && options.start.place->rank > 0) return follow(options.start);
  return Measurement(arguments, options).run();
}

}  // namespace headroom::cli
