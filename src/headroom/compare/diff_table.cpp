// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/diff_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/compare/mode_comparison_text.h"
#include "headroom/compare/percentile_comparison.h"
#include "headroom/compare/shift_sentence.h"
#include "headroom/report/value_text.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

/// Which parts of a case must be named, because the rows differ in them.
struct DiffersIn {
  bool caches = false, threads = false, devices = false, runners = false;
};

DiffersIn differences(const DiffReport& report) {
  std::set<std::string> caches, devices, runners;
  std::set<int> threads;
  for (const Comparison& comparison : report.comparisons) {
    caches.insert(comparison.baseline->caches);
    devices.insert(comparison.baseline->device);
    runners.insert(comparison.baseline->runner);
    threads.insert(comparison.baseline->threads);
  }
  return {caches.size() > 1, threads.size() > 1, devices.size() > 1, runners.size() > 1};
}

std::string compared_case(const Record& record, const DiffersIn& differ) {
  std::string text = case_name(record);
  if (differ.devices && !record.device.empty()) text += " " + record.device;
  if (differ.caches && !record.caches.empty()) text += " " + record.caches;
  if (differ.threads && record.threads > 0) text += fmt::format(" {} threads", record.threads);
  const bool named = differ.runners && !record.runner.empty() && record.runner != record.model.backend;
  return named ? text + " [" + record.runner + "]" : text;
}

std::string ratio_interval_text(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.3f} to {:.3f}", interval->low, interval->high) : "?";
}

std::string ratio_text(const Comparison& comparison) {
  return comparison.ratio ? fmt::format("{:.3f}", comparison.ratio->ratio) : "-";
}

std::string samples_text(const Comparison& comparison) {
  if (comparison.estimator == Estimator::kNone) return comparison.ratio ? "1" : "-";
  return fmt::format("{} {}", comparison.samples, to_string(comparison.estimator));
}

/// The doubts that all comparisons with an estimator share; empty where they do not.
std::vector<std::string> common_doubts(const DiffReport& report) {
  const Comparison* first = nullptr;
  for (const Comparison& comparison : report.comparisons) {
    if (comparison.estimator == Estimator::kNone) continue;
    if (first == nullptr) first = &comparison;
    if (comparison.doubts != first->doubts) return {};
  }
  return first == nullptr ? std::vector<std::string>{} : first->doubts;
}

/// What is to be said below a row, or an empty string. `common`: doubts that are told once for all rows.
std::string remark(const Comparison& comparison, const std::vector<std::string>& common) {
  if (!comparison.problem.empty()) return comparison.problem;
  if (!comparison.doubts.empty() && comparison.doubts != common)
    return "cannot tell: " + join(comparison.doubts, "; ");
  const bool open =
      comparison.verdict == Verdict::kInconclusive || comparison.verdict == Verdict::kUnderpowered;
  if (!open || comparison.more_pairs == 0) return {};
  if (!comparison.ratio->interval) {
    return fmt::format("at least {} more sample{} for an interval", comparison.more_pairs,
                       comparison.more_pairs == 1 ? "" : "s");
  }
  // Two digits: it is a guess at what noise the next samples will have.
  double rough = static_cast<double>(comparison.more_pairs);
  double unit = 1;
  while (rough / unit >= 100) unit *= 10;
  rough = std::ceil(rough / unit) * unit;
  return fmt::format("about {:.0f} more {} for ±1 %", rough,
                     comparison.estimator == Estimator::kPaired ? "pairs" : "samples of each");
}

/// The case, and the test where there are several.
std::string compared_pair(const DiffReport& report, const Comparison& comparison, const DiffersIn& differ) {
  const std::string name = compared_case(*comparison.baseline, differ);
  return report.tests.size() > 1 ? name + " against " + report.tests[comparison.test_index].label : name;
}

std::string percentile_interval_text(const PercentileComparison& found) {
  return found.ratio_interval ? ratio_interval_text(found.ratio_interval) : "undefined: too few samples";
}

/// The verdict of a gate on that percentile; empty where there is none.
std::string tail_text(const Comparison& comparison, double percentile) {
  const auto found = std::ranges::find_if(
      comparison.tails, [&](const TailVerdict& tail) { return tail.margin.percentile == percentile; });
  if (found == comparison.tails.end()) return "";
  return fmt::format("{} (margin {})", to_string(found->verdict), format_percent(found->margin.margin));
}

bool any_backend(const DiffReport& report) {
  return std::ranges::any_of(report.comparisons,
                             [](const Comparison& c) { return !c.baseline->model.backend.empty(); });
}

std::vector<Table::Column> columns_of(const DiffReport& report, bool backends) {
  std::vector<Table::Column> columns{{"case"}};
  if (backends) columns.push_back({"backend", Align::kLeft, ""});
  columns.push_back({"metric", Align::kLeft, ""});
  columns.push_back({"baseline", Align::kRight});
  for (const DiffTest& test : report.tests) {
    const std::string suffix = report.tests.size() > 1 ? " " + test.label : "";
    columns.push_back({"test" + suffix, Align::kRight});
    columns.push_back({"ratio", Align::kRight});
    columns.push_back({"95 % interval"});
    columns.push_back({"verdict"});
    columns.push_back({"n", Align::kRight});
  }
  return columns;
}

/// The comparisons of one baseline record, by test.
using DiffRow = std::vector<const Comparison*>;

std::vector<DiffRow> rows_of(const DiffReport& report) {
  std::unordered_map<const Record*, std::size_t> places;
  places.reserve(report.comparisons.size());
  std::vector<DiffRow> rows;
  for (const Comparison& comparison : report.comparisons) {
    const auto [place, is_new] = places.try_emplace(comparison.baseline, rows.size());
    if (is_new) rows.emplace_back(report.tests.size(), nullptr);
    rows[place->second][comparison.test_index] = &comparison;
  }
  return rows;
}

std::string value_cell(double value, const Comparison& comparison) {
  if (!std::isfinite(value)) return "-";
  return value_text(value, comparison.unit, comparison.baseline->metric.name);
}

void append_cells(std::vector<std::string>& cells, const Comparison* comparison) {
  if (comparison == nullptr) {
    cells.insert(cells.end(), {"-", "-", "-", "-", "-"});
    return;
  }
  cells.push_back(value_cell(comparison->test_value, *comparison));
  cells.push_back(ratio_text(*comparison));
  cells.push_back(comparison->ratio ? ratio_interval_text(comparison->ratio->interval) : "-");
  cells.push_back(to_string(comparison->verdict));
  cells.push_back(samples_text(*comparison));
}

/// What append_cells gives for each test; the fourth is the verdict.
constexpr std::size_t kCellsOfTest = 5;

Tone verdict_tone(Verdict verdict) {
  if (verdict == Verdict::kRegression) return Tone::kBad;
  return verdict == Verdict::kImprovement ? Tone::kGood : Tone::kPlain;
}

void append_row(Table& table, const DiffReport& report, const DiffRow& row, bool backends,
                const DiffersIn& differ, const std::vector<std::string>& common) {
  const Comparison& first = **std::ranges::find_if(row, [](const Comparison* c) { return c != nullptr; });
  const Record& record = *first.baseline;
  std::vector<std::string> cells{compared_case(record, differ)};
  if (backends) cells.push_back(record.model.backend);
  cells.push_back(record.metric.name);
  cells.push_back(value_cell(first.baseline_value, first));
  for (const Comparison* comparison : row) append_cells(cells, comparison);
  const std::size_t before = cells.size() - row.size() * kCellsOfTest;
  table.row(cells);
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] != nullptr) table.tone(before + i * kCellsOfTest + 3, verdict_tone(row[i]->verdict));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i] == nullptr) continue;
    for (const std::string& text : {mode_comparison_text(*row[i]), remark(*row[i], common)}) {
      if (!text.empty()) table.line("    " + (row.size() > 1 ? report.tests[i].label + ": " : "") + text);
    }
  }
}

void append_unmatched(std::string& out, const std::string& title, const std::vector<const Record*>& records) {
  constexpr std::size_t kMost = 20;
  if (records.empty()) return;
  out += fmt::format("{} ({}):\n", title, records.size());
  for (std::size_t i = 0; i < std::min(kMost, records.size()); ++i) {
    const Record& record = *records[i];
    out += fmt::format("  {}{}{}, {}\n", case_name(record), record.model.backend.empty() ? "" : " ",
                       record.model.backend, record.metric.name);
  }
  if (records.size() > kMost) out += fmt::format("  and {} more\n", records.size() - kMost);
}

void append_means(std::string& out, const DiffReport& report) {
  for (std::size_t i = 0; i < report.tests.size(); ++i) {
    const auto mean = mean_worsening(report.comparisons, i);
    if (!mean || mean->cases < 2) continue;
    const std::string interval =
        mean->interval ? fmt::format(" (95 % interval {})", ratio_interval_text(mean->interval)) : "";
    out += fmt::format("geometric mean of {} matched cases{}: {:.3f}{}, above 1 is worse\n", mean->cases,
                       report.tests.size() > 1 ? ", " + report.tests[i].label : "", mean->mean, interval);
  }
}

constexpr const char* kHowToLearnTheSpread =
    "to decide: give several runs of each side (a folder of files is one operand), keep a history of runs on "
    "this "
    "machine,\n  headroom run --calibrate-noise, --run-spread 1% if you know it, or --confirm, which "
    "measures "
    "both side by side\n";

/// ", which allow for ...: 12 earlier runs on this machine"; empty where nothing is known.
std::string spread_sources(const DiffReport& report) {
  std::set<std::string> sources;
  for (const Comparison& comparison : report.comparisons) {
    if (!comparison.run_spread) continue;
    const std::size_t before = runs_of(*comparison.baseline).size(), after = runs_of(*comparison.test).size();
    if (before + after > 2) sources.insert(fmt::format("{} and {} runs", before, after));
    if (!comparison.known.source.empty()) sources.insert(comparison.known.source);
  }
  if (sources.empty()) return "";
  return "; intervals allow for what differs from run to run, known from " +
         join(std::vector<std::string>(sources.begin(), sources.end()), ", ");
}

/// How the verdicts were found, as far as these rows need it.
void append_explanations(std::string& out, const DiffReport& report) {
  const auto any = [&](auto fits) { return std::ranges::any_of(report.comparisons, fits); };
  const auto sampled = std::ranges::count_if(
      report.comparisons, [](const Comparison& c) { return c.estimator != Estimator::kNone; });
  if (const std::vector<std::string> common = common_doubts(report); !common.empty())
    out += "inconclusive, all of them: " + join(common, "; ") + "\n";
  const std::string known = spread_sources(report);
  if (any([](const Comparison& c) { return c.estimator == Estimator::kUnpaired; }))
    out += "unpaired: measured apart, compared by the samples" + known + "\n";
  if (any([](const Comparison& c) { return c.estimator == Estimator::kModes; })) {
    out += fmt::format("modes: measured apart, each group of samples compared with its like{}\n", known) +
           "  a change of their shares is a change too; the same needs both within the margin\n";
  }
  if (any([](const Comparison& c) { return c.estimator == Estimator::kShares; })) {
    out +=
        "shares: measured apart, compared by the shares of the limit that each run measured" + known + "\n";
  }
  if (any(lacks_run_spread)) {
    out += kHowToLearnTheSpread;
  }
  if (any([](const Comparison& c) { return c.verdict == Verdict::kNoSamples; })) {
    out += "no samples: one number each; nothing can tell this difference from noise\n";
  }
  if (any([](const Comparison& c) { return c.verdict == Verdict::kUnderpowered; })) {
    out += fmt::format("underpowered: so few samples can show nothing among {} cases\n", sampled);
  }
  if (sampled == 0) return;
  const auto [least, most] = std::ranges::minmax(report.comparisons, {}, &Comparison::margin);
  const std::string margin = least.margin == most.margin
                                 ? format_percent(least.margin)
                                 : format_percent(least.margin) + " to " + format_percent(most.margin);
  out += fmt::format(
      "verdicts: the whole interval beyond, or within, a margin of {}; claims corrected for {} {} ({})\n",
      margin, sampled, sampled == 1 ? "case" : "cases",
      report.multiplicity == Multiplicity::kHolm ? "Holm" : "Benjamini-Hochberg");
}

}  // namespace

Table diff_table(const DiffReport& report) {
  const bool backends = any_backend(report);
  Table table(columns_of(report, backends), backends ? 3 : 2);
  const DiffersIn differ = differences(report);
  const std::vector<std::string> common = common_doubts(report);
  for (const DiffRow& row : rows_of(report)) append_row(table, report, row, backends, differ, common);
  return table;
}

Table percentile_table(const DiffReport& report) {
  Table table({{"case"},
               {"metric"},
               {"percentile", Align::kRight},
               {"baseline", Align::kRight},
               {"test", Align::kRight},
               {"ratio", Align::kRight},
               {"95 % interval"},
               {"verdict"}},
              3);
  const DiffersIn differ = differences(report);
  for (const Comparison& comparison : report.comparisons) {
    for (const double percentile : report.percentiles) {
      const auto found = compare_percentile(comparison, percentile);
      if (!found) continue;
      table.row({compared_pair(report, comparison, differ), comparison.baseline->metric.name,
                 fmt::format("p{}", percentile), value_cell(found->baseline, comparison),
                 value_cell(found->test, comparison), fmt::format("{:.3f}", found->ratio),
                 percentile_interval_text(*found), tail_text(comparison, percentile)});
    }
  }
  return table;
}

Table shift_table(const DiffReport& report) {
  Table table({{"decile", Align::kRight},
               {"baseline", Align::kRight},
               {"test", Align::kRight},
               {"ratio", Align::kRight},
               {"95 % interval, all nine"},
               {"verdict"}});
  if (!report.shift) return table;
  const DiffersIn differ = differences(report);
  for (const Comparison& comparison : report.comparisons) {
    const std::vector<DecileShift> shifts = shift_function(comparison);
    if (shifts.empty()) continue;
    table.line(fmt::format("{}, {}: {}", compared_pair(report, comparison, differ),
                           comparison.baseline->metric.name, shift_sentence(comparison, shifts)));
    for (const auto& [decile, verdict] : shifts) {
      table.row({fmt::format("p{}", decile.percentile), value_cell(decile.baseline, comparison),
                 value_cell(decile.test, comparison), fmt::format("{:.3f}", decile.ratio),
                 percentile_interval_text(decile), to_string(verdict)});
    }
  }
  return table;
}

Table environment_table(const DiffReport& report) {
  Table table({{"differs"}, {"baseline"}, {"test"}});
  for (const DiffTest& test : report.tests) {
    if (report.tests.size() > 1 && !test.environment.list.empty()) table.line(test.label);
    for (const EnvironmentDifference& difference : test.environment.list) {
      table.row({difference.what, difference.baseline, difference.test});
    }
  }
  return table;
}

namespace {

/// "3 of 24 regressed, 1 improved, 12 are the same, 8 cannot be told", and which changed most of those that
/// did.
void answer_verdicts(Sheet& sheet, const DiffReport& report) {
  std::size_t worse = 0, better = 0, same = 0;
  const Comparison* most = nullptr;
  for (const Comparison& one : report.comparisons) {
    worse += one.verdict == Verdict::kRegression ? 1 : 0;
    better += one.verdict == Verdict::kImprovement ? 1 : 0;
    same += one.verdict == Verdict::kSame ? 1 : 0;
    const bool changed = one.verdict == Verdict::kRegression || one.verdict == Verdict::kImprovement;
    const auto rank = [](const Comparison& c) {
      return std::pair(c.verdict == Verdict::kRegression, std::abs(std::log(c.ratio->ratio)));
    };
    if (changed && one.ratio && (most == nullptr || rank(one) > rank(*most))) most = &one;
  }
  const std::size_t all = report.comparisons.size(), open = all - worse - better - same;
  std::vector<std::string> parts;
  if (worse > 0) parts.push_back(fmt::format("{} regressed", worse));
  if (better > 0) parts.push_back(fmt::format("{} improved", better));
  if (same > 0) parts.push_back(fmt::format("{} {} the same", same, same == 1 ? "is" : "are"));
  if (open > 0) parts.push_back(fmt::format("{} cannot be told", open));
  if (parts.empty()) return;
  sheet.answer(fmt::format("of {} comparison{} {}", all, all == 1 ? "" : "s", join(parts, ", ")),
               worse > 0    ? Tone::kBad
               : better > 0 ? Tone::kGood
                            : Tone::kPlain);
  if (most == nullptr) return;
  sheet.answer(
      fmt::format("most: {} {}: {} x the baseline ({})", compared_pair(report, *most, differences(report)),
                  most->baseline->metric.name, ratio_text(*most), ratio_interval_text(most->ratio->interval)),
      most->verdict == Verdict::kRegression ? Tone::kBad : Tone::kGood);
}

}  // namespace

void answer_diff(Sheet& sheet, const DiffReport& report) {
  for (const DiffTest& test : report.tests) {
    if (!test.environment.different_machines) continue;
    sheet.answer(
        fmt::format("two different machines: {} and {} were not measured on the same one; what differs may "
                    "be the machine",
                    report.baseline, test.label));
  }
  if (report.gate) {
    sheet.answer("gate: " + report.gate->sentence, report.gate->exit == ExitCode::kNo     ? Tone::kBad
                                                   : report.gate->exit == ExitCode::kFine ? Tone::kGood
                                                                                          : Tone::kPlain);
  }
  answer_verdicts(sheet, report);
}

std::string diff_summary(const DiffReport& report) {
  std::string out;
  for (const DiffTest& test : report.tests) {
    append_unmatched(out, "only in " + report.baseline, test.only_baseline);
    append_unmatched(out, "only in " + test.label, test.only_test);
  }
  append_means(out, report);
  append_explanations(out, report);
  return out;
}

}  // namespace headroom
