// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/compared_sides.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/command/command_line.h"
#include "headroom/compare/comparison.h"
#include "headroom/compare/percentile_comparison.h"
#include "headroom/console/output.h"
#include "headroom/process/spawn.h"
#include "headroom/record/disturbance.h"
#include "headroom/record/formats.h"
#include "headroom/record/metrics.h"
#include "headroom/results/operand.h"
#include "headroom/results/run_spreads.h"

namespace headroom::cli {

/// The records that the options ask for: the metrics and cases named; without any metric named, one for each
/// case, backend and runner: its latency, else the one marked as headline, else its first.
std::vector<Record> selected(std::vector<Record> records, const DiffOptions& options);

/// Measures each regression once more before it is said. `command` is a `headroom run` of the old and the new
/// build, interleaved ("headroom run --runner OLD --runner NEW"); it is started for each flagged case with
/// the case's name, axes, backend and caches, and --json, added. A regression that the rerun does not show,
/// by the same rule, becomes inconclusive. Returns a sentence about each case that was rerun. Throws Error:
/// the command cannot be started, or gives no records of the case from two runners.
std::vector<std::string> confirm_regressions(std::span<Comparison> comparisons, const JudgeRule& rule,
                                             const std::string& command);

namespace {

int rank_of(const Record& record) {
  if (record.metric.name == "latency") return 2;
  return record.metric.headline ? 1 : 0;
}

/// Leaves of each case, measured by one runner, the metric that stands for it.
void keep_shown_metrics(std::vector<Record>& records) {
  const auto hash = [](const Record* record) {
    return case_hash(*record) ^ std::hash<std::string>()(record->runner);
  };
  const auto same = [](const Record* a, const Record* b) {
    return a->runner == b->runner && same_case(*a, *b);
  };
  std::unordered_map<const Record*, const Record*, decltype(hash), decltype(same)> best;
  std::vector<const Record* const*> shown;  // of each, that of its case
  best.reserve(records.size());
  shown.reserve(records.size());
  for (const Record& record : records) {
    const Record*& found = best.try_emplace(&record, &record).first->second;
    if (rank_of(record) > rank_of(*found)) found = &record;
    shown.push_back(&found);
  }
  if (best.size() == records.size()) return;
  std::vector<bool> stays;
  for (std::size_t i = 0; i < records.size(); ++i)
    stays.push_back((*shown[i])->metric.name == records[i].metric.name);
  std::size_t i = 0;
  std::erase_if(records, [&](const Record&) { return !stays[i++]; });
}

std::vector<std::string> command_for(const Record& record, const std::string& command,
                                     const std::string& json) {
  if (trimmed(command).empty()) {
    throw Error("--confirm needs a command, for example 'headroom run --runner OLD --runner NEW'");
  }
  std::vector<std::string> arguments = with_context("--confirm", [&] { return split_command_line(command); });
  arguments.push_back(record.model.name);
  for (const auto& [axis, value] : record.axes) {
    arguments.insert(arguments.end(), {"-a", axis + "=" + value.text()});
  }
  arguments.insert(arguments.end(), {"--backend", record.model.backend, "--json", json});
  if (record.threads > 0) arguments.insert(arguments.end(), {"--threads", std::to_string(record.threads)});
  if (record.caches == "hot") arguments.emplace_back("--hot");
  return arguments;
}

std::vector<Record> rerun(const Record& record, const std::string& command) {
  const TemporaryFolder folder;
  const std::string json = (folder.path() / "records.json").string();
  SpawnOptions options;
  options.arguments = command_for(record, command, json);
  Child child(options);
  const auto status = child.wait(std::chrono::milliseconds(-1));
  if (!status->ok()) {
    throw Error("the command of --confirm failed (" + status->text() + "): " + join(options.arguments, " ") +
                "; " + join(child.stderr_lines().lines(), " | "));
  }
  return read_records(json);
}

/// The two measurements of the record's quantity in `records`: the old build's first.
std::vector<const Record*> both_of(const std::vector<Record>& records, const Record& record) {
  std::vector<const Record*> found;
  for (const Record& candidate : records) {
    if (identity(candidate) == identity(record)) found.push_back(&candidate);
  }
  if (found.size() != 2) {
    throw Error(fmt::format("the command of --confirm measured {} {} times, not by two runners",
                            case_name(record), found.size()));
  }
  return found;
}

/// Whether it is said to have regressed, or looks like it, by its modes or by their shares, and cannot be
/// told.
bool is_suspect(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kRegression) return true;
  const auto looks_worse = [&](const std::optional<RatioEstimate>& ratio) {
    return ratio && worsening(*ratio, comparison.baseline->metric.direction).ratio > 1 + comparison.margin;
  };
  return comparison.verdict == Verdict::kInconclusive &&
         (looks_worse(comparison.ratio) || (comparison.modes && looks_worse(comparison.modes->share_effect)));
}

double sort_key(const Comparison& comparison, DiffOptions::Sort sort) {
  const double last = -std::numeric_limits<double>::infinity();
  if (sort == DiffOptions::Sort::kTime) return comparison.problem.empty() ? comparison.baseline_value : last;
  if (!comparison.ratio) return last;
  return worsening(*comparison.ratio, comparison.baseline->metric.direction).ratio;
}

void sort_comparisons(std::vector<Comparison>& comparisons, DiffOptions::Sort sort) {
  if (sort == DiffOptions::Sort::kNone) return;
  if (sort == DiffOptions::Sort::kName) {
    std::ranges::stable_sort(comparisons, {}, [](const Comparison& c) { return case_name(*c.baseline); });
  } else {
    std::ranges::stable_sort(comparisons, std::ranges::greater{},
                             [&](const Comparison& c) { return sort_key(c, sort); });
  }
}

/// Nothing may be said of two machines unless that is what is asked for.
void refuse_other_machine(const DiffSide& baseline, const DiffSide& test, const DiffOptions& options) {
  if (!options.gate || options.across_machines) return;
  if (environment_differences(baseline.records, test.records).different_machines) {
    throw Error(
        baseline.label + " and " + test.label +
        " were measured on two machines: a gate on both says which machine is slower; --across-machines "
        "if that is what you ask");
  }
}

/// Adds the comparisons with one test.
void add_comparisons(std::vector<Comparison>& comparisons, std::size_t test_index, const Matches& matches,
                     const RunSpreads& known, bool two_machines, const DiffOptions& options) {
  comparisons.reserve(comparisons.size() + matches.pairs.size());
  for (const auto& [before, after] : matches.pairs) {
    const auto spread = known.empty() ? known.end() : known.find(identity(*before));
    comparisons.push_back(
        compare_records(*before, *after, spread == known.end() ? RunKnowledge{} : spread->second));
    comparisons.back().test_index = test_index;
    if (two_machines && !options.across_machines)
      comparisons.back().doubts.emplace_back("measured on two machines (--across-machines to compare these)");
  }
}

}  // namespace

NamePattern::NamePattern(const std::string& expression) {
  const int error = ::regcomp(&compiled_, expression.c_str(), REG_EXTENDED | REG_NOSUB);
  if (error == 0) return;
  std::array<char, 200> reason{};
  ::regerror(error, &compiled_, reason.data(), reason.size());
  throw Error(in_quotes(expression) + " is no regular expression: " + reason.data());
}

NamePattern::~NamePattern() {
  ::regfree(&compiled_);
}

bool NamePattern::is_in(const std::string& name) const {
  return ::regexec(&compiled_, name.c_str(), 0, nullptr, 0) == 0;
}

std::vector<Record> selected(std::vector<Record> records, const DiffOptions& options) {
  if (!options.filter.empty()) {
    const NamePattern pattern(options.filter);
    std::erase_if(records, [&](const Record& record) { return !pattern.is_in(case_name(record)); });
  }
  if (!options.metrics.empty()) {
    std::erase_if(records, [&](const Record& record) {
      return std::ranges::none_of(options.metrics, [&](const std::string& metric) {
        return is_same_metric(metric, record.metric.name);
      });
    });
  } else if (!options.all_metrics) {
    keep_shown_metrics(records);
  }
  return records;
}

std::vector<std::string> confirm_regressions(std::span<Comparison> comparisons, const JudgeRule& rule,
                                             const std::string& command) {
  std::vector<std::string> said;
  for (Comparison& comparison : comparisons) {
    if (!is_suspect(comparison)) continue;
    const std::vector<Record> records = rerun(*comparison.baseline, command);
    const auto both = both_of(records, *comparison.baseline);
    std::vector<Comparison> again{compare_records(*both[0], *both[1])};
    judge(again, rule);
    const bool confirmed = again.front().verdict == Verdict::kRegression;
    // Side by side counts more than apart, whatever it says.
    comparison.ratio = again.front().ratio;
    comparison.estimator = again.front().estimator;
    comparison.modes = again.front().modes;
    comparison.samples = again.front().samples;
    comparison.verdict = again.front().verdict;
    comparison.p_value = again.front().p_value;
    comparison.doubts.clear();
    said.push_back(fmt::format("{}: {} by an interleaved rerun ({}, ratio {:.4f})",
                               case_name(*comparison.baseline), confirmed ? "confirmed" : "not confirmed",
                               to_string(again.front().verdict),
                               again.front().ratio ? again.front().ratio->ratio : 0));
  }
  return said;
}

DiffSide read_side(const std::string& operand, const DiffOptions& options) {
  DiffSide side{operand, {}, {}};
  OperandRecords found = records_of_operand(operand, options.store, options.max_memory);
  for (const std::string& warning : found.warnings) say_sentence(warning);
  for (const Record& record : found.records) {
    if (std::ranges::find(side.metrics, record.metric.name) == side.metrics.end()) {
      side.metrics.push_back(record.metric.name);
    }
  }
  JoinedRecords joined =
      with_context(operand, [&] { return join_duplicates(selected(std::move(found.records), options)); });
  for (const std::string& note : joined.notes) say("{}: {}", operand, note);
  side.records = std::move(joined.records);
  // What the kernel said about each sample is most of what large records weigh, and seldom of interest.
  for (Record& record : side.records) {
    if (!troubles_of(record).empty()) continue;
    for (ProcessSamples& process : record.samples) {
      process.noise = {};
      std::vector<DeviceNoise>().swap(process.device);
    }
  }
  if (side.records.empty()) {
    throw Error(operand + ": --metric and --filter leave no result; its metrics are " +
                join(side.metrics, ", "));
  }
  return side;
}

DiffReport compare_sides(const DiffSide& baseline, const std::vector<DiffSide>& tests,
                         const DiffOptions& options) {
  DiffReport report;
  report.baseline = baseline.label;
  report.percentiles = options.percentiles;
  report.shift = options.shift;
  report.multiplicity = options.judge.multiplicity;
  std::size_t missing = 0;
  for (std::size_t i = 0; i < tests.size(); ++i) {
    refuse_other_machine(baseline, tests[i], options);
    Matches matches = match_records(baseline.records, tests[i].records);
    EnvironmentDifferences differences = environment_differences(baseline.records, tests[i].records);
    const RunSpreads known = known_spreads(tests[i].records, options.store, options.run_spread);
    add_comparisons(report.comparisons, i, matches, known, differences.different_machines, options);
    missing += matches.only_baseline.size();
    report.tests.push_back({tests[i].label, std::move(differences), std::move(matches.only_baseline),
                            std::move(matches.only_test)});
  }
  judge(report.comparisons, options.judge);
  if (!options.confirm.empty()) {
    for (const std::string& sentence :
         confirm_regressions(report.comparisons, options.judge, options.confirm)) {
      say_sentence(sentence);
    }
  }
  judge_tails(report.comparisons, options.tails, options.judge.alpha);
  if (options.gate) report.gate = gate_answer(report.comparisons, missing);
  sort_comparisons(report.comparisons, options.sort);
  return report;
}

}  // namespace headroom::cli
