// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <set>

#include "cli/commands/run_live.h"
#include "cli/commands/run_options.h"
#include "cli/commands/run_outputs.h"
#include "cli/commands/run_resume.h"
#include "cli/commands/run_traces.h"
#include "cli/commands/run_tuned_variants.h"
#include "cli/commands/run_utilization.h"
#include "cli/shared/busy_warning.h"
#include "cli/shared/interrupt.h"
#include "cli/shared/known_runners.h"
#include "cli/shared/print_table.h"
#include "cli/shared/record_files.h"
#include "cli/shared/run_journal.h"
#include "cli/shared/run_spreads.h"
#include "cli/shared/say.h"
#include "cli/shared/terminal_progress.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/base/table.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/match.h"
#include "headroom/experiment/buffer.h"
#include "headroom/experiment/process_counters.h"
#include "headroom/machine/fingerprint.h"
#include "headroom/machine/huge_pages.h"
#include "headroom/ranks/rank_group.h"
#include "headroom/record/overhead_metrics.h"
#include "headroom/record/target_verdict.h"
#include "headroom/report/run_sheet.h"
#include "headroom/schedule/session.h"
#include "headroom/stats/quantile.h"

namespace headroom::cli {
namespace {

/// "yes (the kernel's policy: madvise)": what was asked for, and whom the kernel gives them.
std::string huge_pages_of(const SessionRequest& request) {
  static_cast<void>(page_wish());  // throws before runners do
  const char* inherited = std::getenv(kHugePagesVariable);
  std::string wish = inherited == nullptr || *inherited == '\0' ? "yes" : inherited;
  for (const auto& [name, value] : request.environment) {
    if (name == kHugePagesVariable) wish = value;
  }
  const std::string policy = huge_page_policy();
  return wish + (policy.empty() ? " (the kernel has none)" : " (the kernel's policy: " + policy + ")");
}

std::shared_ptr<const Environment> environment_of(const Arguments& arguments, const RunOptions& options,
                                                  const UnfinishedRun* before = nullptr) {
  std::vector<std::string> command{"headroom", "run"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  Environment environment = read_environment(command);
  environment.extra_info["seed"] = std::to_string(options.request.selection.seed);
  environment.extra_info["precision"] = fmt::format("{:g}", options.request.stop.precision);
  environment.extra_info["max_time_s"] = fmt::format("{:g}", options.request.stop.max_time_ns / 1e9);
  environment.extra_info["hardware_counters"] =
      options.request.counts ? ProcessCounters().text() : "not asked for (--no-counters)";
  environment.extra_info["huge_pages"] = huge_pages_of(options.request);
  if (options.request.subtracts_overhead) environment.extra_info[kOverheadTakenOff] = "yes";
  if (before != nullptr) note_resumed(*before, environment);
  return std::make_shared<const Environment>(std::move(environment));
}

/// "D=1024,4096,8192", of many values "bytes=16384,32768,...,1073741824 (17 values)".
std::string axis_text(const Axis& axis) {
  constexpr std::size_t kShown = 8;
  if (axis.values.size() <= kShown) return axis.name + "=" + join(axis.values, ",");
  return fmt::format("{}={},{},...,{} ({} values)", axis.name, axis.values[0], axis.values[1],
                     axis.values.back(), axis.values.size());
}

void print_list(const std::vector<RunnerOffer>& offers) {
  Table table({{"experiment"}, {"runner"}, {"backends"}, {"axes"}});
  for (const RunnerOffer& offer : offers) {
    for (const ExperimentDescription& experiment : offer.experiments) {
      std::vector<std::string> axes;
      for (const Axis& axis : experiment.axes) axes.push_back(axis_text(axis));
      table.row({experiment.name, offer.label, join(experiment.backends, ","), join(axes, " ")});
      table.line("    " + experiment.summary);
    }
  }
  print_table(table, stdout);
}

/// The offers as JSON: an array of {"runner", "experiments"}.
std::string list_json(const std::vector<RunnerOffer>& offers) {
  Json list = Json::array();
  for (const RunnerOffer& offer : offers) {
    Json experiments = Json::array();
    for (const ExperimentDescription& experiment : offer.experiments)
      experiments.push_back(to_json(experiment));
    list.push_back({{"runner", offer.label}, {"experiments", experiments}});
  }
  return dump_json_pretty(list) + "\n";
}

void list(const std::vector<RunnerOffer>& offers, const std::string& json) {
  if (json != "-") print_list(offers);
  if (!json.empty()) write_file_atomically(json == "-" ? "/dev/stdout" : json, list_json(offers));
}

/// Says how many results no machine can have given; whether there are any.
bool tell_miscounted(const std::vector<Record>& records) {
  const auto count = std::ranges::count_if(
      records, [](const Record& record) { return record.metric.headline && is_miscounted(record); });
  if (count == 0) return false;
  say("{} result{} above what this machine can do: the bytes or FLOPs that are declared are not those of the "
      "program; neither ranked nor averaged",
      count, count == 1 ? " lies" : "s lie");
  return true;
}

ExitCode exit_code_of(const std::vector<Record>& records, bool fail_below_target) {
  const bool miscounted = tell_miscounted(records);
  if (miscounted || any_outcome(records, Outcome::Kind::kFailed)) return ExitCode::kNo;
  if (!fail_below_target) return ExitCode::kFine;
  const auto any = [&](auto&& is) { return std::ranges::any_of(records, is); };
  if (any([](const Record& record) { return target_verdict(record) == TargetVerdict::kMissed; })) {
    return ExitCode::kNo;
  }
  const bool unclear =
      any([](const Record& record) { return target_verdict(record) == TargetVerdict::kUnclear; });
  return unclear ? ExitCode::kInconclusive : ExitCode::kFine;
}

/// Stores how far the runs lie apart, and says so; kInconclusive where there is nothing to store.
ExitCode store_run_spreads(const std::vector<Record>& records) {
  const RunSpreads spreads = spreads_of(records, "");
  if (spreads.empty()) {
    say("nothing was stored: no quantity was measured in two runs");
    return ExitCode::kInconclusive;
  }
  std::vector<double> shares;
  for (const auto& [name, known] : spreads) shares.push_back(known.values->log_sd);
  const std::string path = store_spreads(records.front().environment->fingerprint, spreads);
  say("runs of the same lie {} apart (standard deviation; median of {} quantities, at most {}); stored in {}",
      format_percent(median(shares)), spreads.size(), format_percent(std::ranges::max(shares)), path);
  return ExitCode::kFine;
}

/// Else the column "of limit" would be empty without a reason.
void tell_missing_limits(const SessionRequest& request) {
  if (!request.limits) return;
  std::vector<std::string> runners;
  for (const RunnerCommand& command : request.runners) runners.push_back(command.path);
  for (const std::string& sentence : missing_limits_of(runners)) say_sentence(sentence);
}

/// Of several runners that are compared the first backend of each experiment is measured: says which others
/// there are.
void tell_left_out_backends(const SessionRequest& request, const std::vector<Group>& groups,
                            const std::vector<RunnerOffer>& offers) {
  if (request.runners.size() < 2 || !request.selection.backends.empty()) return;
  std::set<std::string> left_out;
  for (const Group& group : groups) {
    for (const RunnerOffer& offer : offers) {
      const auto experiment = std::ranges::find(offer.experiments, group.cases.front().spec.experiment,
                                                &ExperimentDescription::name);
      if (offer.only_limits || experiment == offer.experiments.end()) continue;
      left_out.insert(experiment->backends.begin() + 1, experiment->backends.end());
    }
  }
  if (left_out.empty()) return;
  say("only the first backend of each experiment; --backend takes others ({}), --all-backends all",
      join(std::vector<std::string>(left_out.begin(), left_out.end()), ", "));
}

/// `--calibrate-noise`: the whole run several times, one after the other, each with runners of its own.
ExitCode calibrate(const Arguments& arguments, const RunOptions& options,
                   const std::atomic<bool>& interrupted) {
  constexpr int kRuns = 5;
  std::vector<Record> all;
  for (int run = 1; run <= kRuns && !interrupted; ++run) {
    say("run {} of {}", run, kRuns);
    const auto environment = environment_of(arguments, options);
    TunedVariants tuned(environment->fingerprint, false);
    SessionRequest request = options.request;
    request.tuning = &tuned;
    Session session(std::move(request), environment, interrupted);
    TerminalProgress progress(
        [&](std::vector<Record> finished) { std::ranges::move(finished, std::back_inserter(all)); });
    session.run(session.groups(), progress);
  }
  if (all.empty()) throw Error("--calibrate-noise: nothing was measured, and nothing is stored");
  JoinedRecords joined = join_duplicates(std::move(all));
  print_sheet(run_sheet(joined.records), stdout, options.markdown);
  const ExitCode stored = store_run_spreads(joined.records);
  return interrupted ? tell_interrupted() : stored;
}

/// Who shows where the run is.
std::unique_ptr<Observer> observer_of(const RunOptions& options, const Session& session,
                                      std::function<void(const std::vector<Record>&)> on_records,
                                      std::function<void(const GroupResult&)> on_round) {
  if (options.live && LiveRun::is_possible()) {
    return std::make_unique<LiveRun>(session.labels(), session.environment(), std::move(on_records),
                                     std::move(on_round));
  }
  if (options.live) say("--live draws on a terminal, which standard error is not: measuring without it");
  return std::make_unique<TerminalProgress>(std::move(on_records), std::move(on_round));
}

ExitCode measure(const Arguments& arguments, const RunOptions& options, const std::atomic<bool>& interrupted,
                 const UnfinishedRun* before) {
  std::vector<Target> targets = options.targets.empty() ? shipped_targets() : read_targets(options.targets);
  const RunOutputs outputs(options);
  const auto environment = environment_of(arguments, options, before);
  TunedVariants tuned(environment->fingerprint, options.retune);
  SessionRequest request = options.request;
  request.tuning = &tuned;
  Session session(std::move(request), environment, interrupted);
  for (const std::string& reason : session.left_out()) say("without {}", reason);
  for (const std::string& reason : session.unfit()) say("{}; the others are measured without it", reason);
  if (options.list) {
    list(session.offers(), options.json);
    return ExitCode::kFine;
  }
  tell_missing_limits(options.request);
  std::vector<Group> groups = session.groups();
  tell_left_out_backends(options.request, groups, session.offers());
  const std::string& traces = options.request.traces;
  if (!traces.empty()) require_traces(traces, groups, session.offers());
  const auto busy = warn_when_busy(most_threads(groups));
  QuotaWatch quota;
  std::vector<Record> records;
  RunJournal journal;
  journal.begin(*session.environment(), session.labels());
  if (before != nullptr) records = take_finished(*before, groups, session.environment(), journal);
  std::string lost;
  {
    const auto on_records = [&](std::vector<Record> finished) {
      for (const std::string& problem : append_utilization(finished)) say_sentence(problem);
      apply_targets(finished, targets);
      note_busy(finished, busy);
      quota.note(finished);
      journal.finish_group(finished);
      std::ranges::move(finished, std::back_inserter(records));
      write_if_possible([&] { outputs.write_records_so_far(records); });
    };
    const auto progress =
        observer_of(options, session, on_records, [&](const GroupResult& so_far) { journal.note(so_far); });
    try {
      session.run(groups, *progress);
    } catch (const RankLost& loss) {
      lost = loss.what();
    }
  }
  if (!records.empty()) {
    // Records on standard output are for a program to read: the table makes way.
    print_sheet(run_sheet(records), outputs.uses_stdout() ? stderr : stdout, options.markdown);
    if (!traces.empty()) report_traces(traces, records);
    keep_results(records, options.store, journal, [&] { outputs.write_means(records); });
  }
  if (!lost.empty()) throw Error(lost);
  if (interrupted) return tell_interrupted();
  return session.unfit().empty() ? exit_code_of(records, options.fail_below_target) : ExitCode::kCannot;
}

ExitCode run_with(const Arguments& arguments, const RunOptions& options, const UnfinishedRun* before) {
  if (options.ranks && options.ranks->place && options.ranks->place->rank > 0) return follow(*options.ranks);
  try {
    const bool calibrates = options.calibrate_noise && !options.list;
    if (calibrates) return calibrate(arguments, options, interrupt_flag());
    return measure(arguments, options, interrupt_flag(), before);
  } catch (const Interrupted&) {
    say("interrupted before anything was measured");
    return ExitCode::kInterrupted;
  }
}

}  // namespace

ExitCode run(const Arguments& arguments) {
  const RunOptions options = parse_run_options(arguments);
  if (options.done) return *options.done;
  if (!options.resume) return run_with(arguments, options, nullptr);
  const UnfinishedRun before = run_to_resume();
  const Arguments again = arguments_of(before);
  return run_with(again, parse_run_options(again), &before);
}

}  // namespace headroom::cli
