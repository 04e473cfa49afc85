// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_sides.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "cli/commands/diff_confirmation.h"
#include "cli/commands/diff_selection.h"
#include "cli/shared/diff_operand.h"
#include "cli/shared/run_spreads.h"
#include "cli/shared/say.h"
#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/compare/percentile_comparison.h"
#include "headroom/record/disturbance.h"

namespace headroom::cli {
namespace {

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
