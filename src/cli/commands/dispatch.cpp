// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string_view>

#include "cli/commands/dispatch_options.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/print_table.h"
#include "cli/shared/rank_job.h"
#include "cli/shared/record_files.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/compare/dispatch_expectations.h"
#include "headroom/record/blas_dependency.h"
#include "headroom/report/dispatch_table.h"
#include "headroom/schedule/dispatch_records.h"
#include "headroom/schedule/session.h"

namespace headroom::cli {
namespace {

using Expectations = std::vector<DispatchExpectation>;

std::shared_ptr<const Environment> environment_of(const Arguments& arguments,
                                                  const DispatchOptions& options) {
  Environment environment = rank_environment("dispatch", arguments, options.start);
  environment.extra_info["seed"] = std::to_string(options.seed);
  environment.extra_info["precision"] = fmt::format("{:g}", options.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.stop.max_time_ns / 1e9);
  environment.extra_info["repeats"] = std::to_string(options.setup.repeats);
  environment.extra_info["distributed_backend"] = options.backend;
  return std::make_shared<const Environment>(std::move(environment));
}

std::string name_of(const ExperimentDescription& experiment) {
  return experiment.name.substr(std::string_view(kDispatchPrefix).size());
}

/// The operators that the ranks can measure.
std::vector<ExperimentDescription> operators(const RunnerOffer& ranks) {
  std::vector<ExperimentDescription> found;
  std::ranges::copy_if(ranks.experiments, std::back_inserter(found),
                       [](const auto& experiment) { return experiment.name.starts_with(kDispatchPrefix); });
  return found;
}

void list_operators(const RunnerOffer& ranks) {
  Table table({{"operator"}, {"what it is"}, {"measured by default"}});
  for (const ExperimentDescription& op : operators(ranks))
    table.row({name_of(op), op.summary, op.is_on_request ? "" : "yes"});
  print_table(table, stdout);
}

/// What to measure, each by all runners in the same rounds: what was asked for, or the default panel. Throws
/// Error for a name that is none.
std::vector<Group> groups_of(const DispatchOptions& options, const SessionRequest& request,
                             const std::vector<RunnerOffer>& offers) {
  std::vector<std::string> all;
  std::vector<Group> groups;
  const auto add = [&](const ExperimentDescription& op) {
    Group group{name_of(op), {}};
    for (std::size_t runner = 0; runner < offers.size(); ++runner) {
      group.cases.push_back(planned_case(runner, experiment_of(offers[runner], op.name),
                                         axes_of(options.setup), options.backend, request.selection));
    }
    groups.push_back(std::move(group));
  };
  const std::vector<ExperimentDescription> known = operators(offers.front());
  for (const ExperimentDescription& op : known) {
    all.push_back(name_of(op));
    if (options.ops.empty() && !op.is_on_request) add(op);
  }
  for (const std::string& name : options.ops) {
    const auto found = std::ranges::find(known, name, name_of);
    if (found == known.end()) {
      throw Error("no operator " + in_quotes(name) + did_you_mean(name, all) + "; there are " +
                  join(all, ", "));
    }
    add(*found);
  }
  return groups;
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
    return run_rank_job([this] { measure(); }, [this] { report(); }, [this] { return verdict(); });
  }

 private:
  void measure() {
    const SessionRequest request =
        rank_session(options_.start, options_.patience, options_.stop, options_.seed, options_.backend);
    Session session(request, environment_of(arguments_, options_), interrupt_flag());
    const RunnerOffer& ranks = session.offers().front();
    warn_of_core_sharing(ranks);
    no_counters_ = ranks.ranks.front().no_counters;
    if (options_.list) return list_operators(ranks);
    TerminalProgress progress([this](const std::vector<Record>& finished) {
      std::ranges::move(dispatch_records(finished), std::back_inserter(records_));
      files_.write_so_far(records_);
    });
    session.run(groups_of(options_, request, session.offers()), progress);
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
