// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/diff_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/metric_direction.h"
#include "headroom/record/record_json.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

struct Words {
  const char *worst, *worse, *better;
};

bool is_speed(const Comparison& comparison) {
  return unit_factor(comparison.unit, "s").has_value() || comparison.unit.ends_with("/s");
}

/// "3.20 x slower (2.90 to 3.60)" or "5.00 % slower (4.00 to 6.00 %)". `by` is above 1.
std::string distance_text(double by, const Interval& interval, const char* word,
                          const std::string& within = "") {
  constexpr double kFewTimes = 1.5;
  if (by >= kFewTimes) {
    return fmt::format("{} x {} ({} to {}{})", format_number(by), word, format_number(interval.low),
                       format_number(interval.high), within);
  }
  return fmt::format("{} {} ({} to {}{})", format_percent(by - 1), word,
                     format_number(100 * (interval.low - 1)), format_percent(interval.high - 1), within);
}

/// "10.0 x slower (9.81 to 10.2 within the runs; ...)"; of unknown direction "2.00 x the baseline (1.90 to
/// 2.10)".
std::string change_text(const Comparison& comparison) {
  const Interval interval = comparison.within_runs.value_or(*comparison.ratio->interval);
  const std::string within =
      comparison.within_runs ? " within the runs; " + assumed_spread_clause() : std::string();
  if (comparison.direction == Direction::kUnknown) {
    return fmt::format("{} x the baseline ({} to {}{})", format_number(comparison.ratio->ratio),
                       format_number(interval.low), format_number(interval.high), within);
  }
  const bool is_worse = comparison.verdict == Verdict::kRegression;
  const char* word =
      is_speed(comparison) ? (is_worse ? "slower" : "faster") : (is_worse ? "worse" : "better");
  RatioEstimate by = worsening({comparison.ratio->ratio, interval, 0}, comparison.direction);
  if (!is_worse) by = worsening(by, Direction::kHigherIsBetter);
  return distance_text(by.ratio, *by.interval, word, within);
}

std::string part_text(const Comparison& comparison, const DecileShift& shift, const Words& words) {
  if (shift.verdict == Verdict::kSame) return "the same";
  if (shift.verdict == Verdict::kUnderpowered) return "inconclusive (too few samples)";
  const RatioEstimate worse =
      worsening({shift.decile.ratio, shift.decile.ratio_interval, 0}, comparison.direction);
  if (shift.verdict == Verdict::kChanged)
    return fmt::format("{} x the baseline's", format_number(shift.decile.ratio));
  if (shift.verdict == Verdict::kRegression) return distance_text(worse.ratio, *worse.interval, words.worse);
  if (shift.verdict == Verdict::kInconclusive) return "inconclusive";
  const RatioEstimate better = worsening(worse, Direction::kHigherIsBetter);
  return distance_text(better.ratio, *better.interval, words.better);
}

std::string side_text(const Modes& modes, const Comparison& comparison) {
  if (modes.groups.empty()) return "one group";
  return groups_text(modes.groups, comparison.unit, comparison.baseline->metric.name);
}

std::string matched_text(const Comparison& comparison) {
  const ModeComparison& modes = *comparison.modes;
  const auto value = [&](double median) {
    return value_text(median, comparison.unit, comparison.baseline->metric.name);
  };
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < modes.matched.size(); ++i) {
    const Mode &before = modes.baseline.groups[i], &after = modes.test.groups[i];
    parts.push_back(fmt::format("{} to {} ({:.3f}), from {:.0f} to {:.0f} %{}", value(before.median),
                                value(after.median), modes.matched[i].ratio.ratio, 100 * before.share,
                                100 * after.share, i == 0 ? " of the samples" : ""));
  }
  return join(parts, "; ");
}

std::string shares_text(const ModeComparison& modes) {
  if (!modes.share_effect) return "in stretches, so their shares do not describe the program";
  const RatioEstimate& effect = *modes.share_effect;
  return fmt::format("the shares alone change the mean by a factor of {:.3f} ({:.3f} to {:.3f})",
                     effect.ratio, effect.interval->low, effect.interval->high);
}

std::string inconclusive_text(const Comparison& comparison) {
  const ModeComparison& modes = *comparison.modes;
  if (comparison.verdict != Verdict::kInconclusive || !comparison.doubts.empty()) return "";
  if (!all_bounded(modes)) return ": inconclusive, too few samples of a mode";
  if (!modes.share_effect) return "";
  const Interval& shares = *modes.share_effect->interval;
  const bool inside = shares.low >= 1 - comparison.margin && shares.high <= 1 + comparison.margin;
  return inside ? "" : ": inconclusive, the interval crosses the margin";
}

struct DifferingSettings {
  bool caches = false, threads = false, devices = false, runners = false;
};

DifferingSettings differences(const DiffReport& report) {
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

std::string compared_case(const Record& record, const DifferingSettings& differ) {
  std::string text = shown_case_name(record);
  if (differ.devices && !record.device.empty()) text += " " + record.device;
  if (differ.caches && !record.caches.empty()) text += " " + record.caches;
  if (differ.threads && record.threads > 0) text += fmt::format(" {} threads", record.threads);
  const bool named = differ.runners && !record.runner.empty() && record.runner != record.model.backend;
  return named ? text + " [" + record.runner + "]" : text;
}

std::string ratio_interval_text(const std::optional<Interval>& interval) {
  return interval ? format_ratio(interval->low) + " to " + format_ratio(interval->high) : "?";
}

std::string ratio_text(const Comparison& comparison) {
  return comparison.ratio ? format_ratio(comparison.ratio->ratio) : "-";
}

std::string samples_text(const Comparison& comparison) {
  if (comparison.estimator == Estimator::kNone) return comparison.ratio ? "1" : "-";
  return fmt::format("{} {}", comparison.samples, to_string(comparison.estimator));
}

std::vector<std::string> common_doubts(const DiffReport& report) {
  const Comparison* first = nullptr;
  for (const Comparison& comparison : report.comparisons) {
    if (comparison.estimator == Estimator::kNone) continue;
    if (first == nullptr) first = &comparison;
    if (comparison.doubts != first->doubts) return {};
  }
  return first == nullptr ? std::vector<std::string>{} : first->doubts;
}

/// `common`: doubts already given for all rows.
std::string remark(const Comparison& comparison, const std::vector<std::string>& common) {
  if (!comparison.problem.empty()) return comparison.problem;
  if (!comparison.doubts.empty() && comparison.doubts != common)
    return "inconclusive: " + join(comparison.doubts, "; ");
  if (!comparison.ratio && is_change(comparison.verdict)) return "no ratio: one value is 0";
  const bool open =
      comparison.verdict == Verdict::kInconclusive || comparison.verdict == Verdict::kUnderpowered;
  if (!open || comparison.more_pairs == 0 || !comparison.ratio) return {};
  // More samples of the same runs do not reveal the run-to-run spread.
  if (comparison.within_runs && comparison.verdict == Verdict::kInconclusive) return {};
  if (!comparison.ratio->interval) {
    return fmt::format("needs at least {} for an interval", counted(comparison.more_pairs, "more sample"));
  }
  // Two digits: the noise of further samples is unknown.
  double rough = static_cast<double>(comparison.more_pairs);
  double unit = 1;
  while (rough / unit >= 100) unit *= 10;
  rough = std::ceil(rough / unit) * unit;
  return fmt::format("needs about {:.0f} more {} for ±1 %", rough,
                     comparison.estimator == Estimator::kPaired ? "pairs" : "samples per side");
}

std::string compared_pair(const DiffReport& report, const Comparison& comparison,
                          const DifferingSettings& differ) {
  const std::string name = compared_case(*comparison.baseline, differ);
  return report.tests.size() > 1 ? name + " against " + report.tests[comparison.test_index].label : name;
}

std::string percentile_interval_text(const PercentileComparison& found) {
  return found.ratio_interval ? ratio_interval_text(found.ratio_interval) : "undefined: too few samples";
}

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

Columns columns_of(const DiffReport& report, bool backends) {
  Columns columns = Columns().left({"case"});
  if (backends) columns.shared("backend", Align::kLeft, "");
  columns.shared("metric", Align::kLeft, "").right({"baseline"});
  for (const DiffTest& test : report.tests) {
    const std::string suffix = report.tests.size() > 1 ? " " + test.label : "";
    columns.priority(Priority::kNormal).right({"candidate" + suffix});
    columns.priority(Priority::kFirst).right({"ratio"});
    columns.priority(Priority::kNormal).left({"95 % interval"});
    columns.priority(Priority::kFirst).left({"verdict"});
    columns.priority(Priority::kLast).right({"n"});
  }
  return columns;
}

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

constexpr std::size_t kCellsOfTest = 5;

Tone verdict_tone(Verdict verdict) {
  if (verdict == Verdict::kRegression) return Tone::kBad;
  return verdict == Verdict::kImprovement ? Tone::kGood : Tone::kPlain;
}

/// Returns one line on the modes; empty if both sides are unimodal:
///
///     modes: 10.0 µs to 10.3 µs (1.030), from 80 to 40 % of the samples; 13.0 µs to 13.4 µs (1.031), from 20
///     to 60 %; the shares alone change the mean by a factor of 1.113 (1.080 to 1.148)
std::string mode_comparison_text(const Comparison& comparison) {
  if (!comparison.modes) return "";
  const ModeComparison& modes = *comparison.modes;
  if (modes.matched.empty()) {
    return fmt::format("modes: baseline {}, candidate {}: no mode in common, compared by all samples",
                       side_text(modes.baseline, comparison), side_text(modes.test, comparison));
  }
  return fmt::format("modes: {}; {}{}", matched_text(comparison), shares_text(modes),
                     inconclusive_text(comparison));
}

void append_row(Table& table, const DiffReport& report, const DiffRow& row, bool backends,
                const DifferingSettings& differ, const std::vector<std::string>& common) {
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
  constexpr std::size_t kMax = 20;
  if (records.empty()) return;
  out += fmt::format("{} ({}):\n", title, records.size());
  for (std::size_t i = 0; i < std::min(kMax, records.size()); ++i) {
    const Record& record = *records[i];
    out += fmt::format("  {}{}{}, {}\n", shown_case_name(record), record.model.backend.empty() ? "" : " ",
                       record.model.backend, record.metric.name);
  }
  if (records.size() > kMax) out += fmt::format("  and {} more\n", records.size() - kMax);
}

void append_means(std::string& out, const DiffReport& report) {
  for (std::size_t i = 0; i < report.tests.size(); ++i) {
    const auto mean = mean_worsening(report.comparisons, i);
    if (!mean || mean->cases < 2) continue;
    const std::string interval =
        mean->interval ? fmt::format(" (95 % interval {})", ratio_interval_text(mean->interval)) : "";
    out += fmt::format("geometric mean of {} matched cases{}: {}{}, above 1 is worse\n", mean->cases,
                       report.tests.size() > 1 ? ", " + report.tests[i].label : "", format_ratio(mean->mean),
                       interval);
  }
}

constexpr const char* kSpreadAdvice =
    "to narrow the intervals: give several runs of each side (a folder of files is one operand), keep a "
    "history of runs on\n"
    "  this machine, use headroom run --calibrate-noise, give --run-spread 1% if known, or measure both "
    "together (--confirm)\n";

std::string spread_sources(const DiffReport& report) {
  std::set<std::string> sources;
  for (const Comparison& comparison : report.comparisons) {
    if (!comparison.run_spread) continue;
    const std::size_t before = runs_of(*comparison.baseline).size(), after = runs_of(*comparison.test).size();
    if (before + after > 2) sources.insert(fmt::format("{} and {} runs", before, after));
    if (!comparison.known.source.empty()) sources.insert(comparison.known.source);
  }
  if (std::ranges::any_of(report.comparisons, [](const Comparison& c) { return c.within_runs.has_value(); }))
    return "; intervals include the " + assumed_spread_clause() +
           (sources.empty()
                ? ""
                : ", or known from " + join(std::vector<std::string>(sources.begin(), sources.end()), ", "));
  if (sources.empty()) return "";
  return "; intervals include the run-to-run spread, known from " +
         join(std::vector<std::string>(sources.begin(), sources.end()), ", ");
}

void append_explanations(std::string& out, const DiffReport& report) {
  const auto any = [&](auto fits) { return std::ranges::any_of(report.comparisons, fits); };
  const auto sampled = std::ranges::count_if(
      report.comparisons, [](const Comparison& c) { return c.estimator != Estimator::kNone; });
  if (const std::vector<std::string> common = common_doubts(report); !common.empty())
    out += "all inconclusive: " + join(common, "; ") + "\n";
  const std::string known = spread_sources(report);
  if (any([](const Comparison& c) { return c.estimator == Estimator::kUnpaired; }))
    out += "unpaired: separate runs, compared by their samples" + known + "\n";
  if (any([](const Comparison& c) { return c.estimator == Estimator::kModes; })) {
    out += fmt::format("modes: separate runs, compared mode by mode{}\n", known) +
           "  a change of their shares counts, too; 'same' needs both within the margin\n";
  }
  if (any([](const Comparison& c) { return c.estimator == Estimator::kShares; })) {
    out +=
        "shares: separate runs, compared by their share of the limit that each run measured" + known + "\n";
  }
  if (any([](const Comparison& c) { return c.verdict == Verdict::kInconclusive && c.within_runs; }))
    out += kSpreadAdvice;
  if (any([](const Comparison& c) { return c.verdict == Verdict::kChanged; })) {
    out +=
        "changed: the better direction is unknown; give --higher-is-better NAME or --lower-is-better NAME\n";
  }
  if (any([](const Comparison& c) { return c.verdict == Verdict::kNoSamples; })) {
    out += "inconclusive, no samples: a difference of two single values may be noise\n";
  }
  if (any([](const Comparison& c) { return c.verdict == Verdict::kUnderpowered; })) {
    out += fmt::format("inconclusive, too few samples: no difference can be significant among {} cases\n",
                       sampled);
  }
  if (sampled == 0) return;
  const auto [least, most] = std::ranges::minmax(report.comparisons, {}, &Comparison::margin);
  const std::string margin = least.margin == most.margin
                                 ? format_percent(least.margin)
                                 : format_percent(least.margin) + " to " + format_percent(most.margin);
  out += fmt::format(
      "verdict: regression or improvement if the whole interval is beyond a margin of {}, same if within; "
      "corrected for {} {} ({})\n",
      margin, sampled, sampled == 1 ? "case" : "cases",
      report.multiplicity == Multiplicity::kHolm ? "Holm" : "Benjamini-Hochberg");
}

/// Gives its worst tenth and median: "the slowest tenth is 3.20x slower (2.90 to 3.60), the median the same".
/// `shifts` must not be empty.
std::string shift_sentence(const Comparison& comparison, const std::vector<DecileShift>& shifts) {
  const Words words =
      is_speed(comparison) ? Words{"slowest", "slower", "faster"} : Words{"worst", "worse", "better"};
  const bool highest_is_worst = comparison.direction != Direction::kHigherIsBetter;
  const DecileShift& worst = highest_is_worst ? shifts.back() : shifts.front();
  return fmt::format("the {} tenth is {}, the median {}", words.worst, part_text(comparison, worst, words),
                     part_text(comparison, shifts[shifts.size() / 2], words));
}

void answer_verdicts(View& view, const DiffReport& report) {
  std::size_t worse = 0, better = 0, same = 0, changed = 0, failed = 0, not_compared = 0;
  const Comparison* most = nullptr;
  for (const Comparison& one : report.comparisons) {
    worse += one.verdict == Verdict::kRegression ? 1 : 0;
    better += one.verdict == Verdict::kImprovement ? 1 : 0;
    same += one.verdict == Verdict::kSame ? 1 : 0;
    changed += one.verdict == Verdict::kChanged ? 1 : 0;
    failed += one.verdict == Verdict::kFailed ? 1 : 0;
    not_compared += one.verdict == Verdict::kNotCompared ? 1 : 0;
    const auto rank = [](const Comparison& c) {
      return std::pair(c.verdict == Verdict::kRegression, std::abs(std::log(c.ratio->ratio)));
    };
    if (is_change(one.verdict) && one.ratio && (most == nullptr || rank(one) > rank(*most))) most = &one;
  }
  const std::size_t all = report.comparisons.size(),
                    open = all - worse - better - same - changed - failed - not_compared;
  std::vector<std::string> parts;
  if (worse > 0) parts.push_back(fmt::format("{} regressed", worse));
  if (better > 0) parts.push_back(fmt::format("{} improved", better));
  if (same > 0) parts.push_back(fmt::format("{} {} the same", same, is_or_are(same)));
  if (changed > 0) parts.push_back(fmt::format("{} changed", changed));
  if (open > 0) parts.push_back(fmt::format("{} {} inconclusive", open, is_or_are(open)));
  if (failed > 0) parts.push_back(fmt::format("{} failed", failed));
  if (not_compared > 0) parts.push_back(fmt::format("{} not compared", not_compared));
  if (parts.empty()) return;
  view.answer(fmt::format("of {} {}", counted(all, "comparison"), join(parts, ", ")), worse > 0 ? Tone::kBad
                                                                                      : better > 0
                                                                                          ? Tone::kGood
                                                                                          : Tone::kPlain);
  if (most == nullptr) return;
  view.answer(fmt::format("most: {} {}: {}", compared_pair(report, *most, differences(report)),
                          most->baseline->metric.name, change_text(*most)),
              verdict_tone(most->verdict));
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json cases(const std::vector<const Record*>& records) {
  Json list = Json::array();
  for (const Record* record : records) {
    list.push_back(
        {{"case", case_name(*record)}, {"backend", record->model.backend}, {"metric", record->metric.name}});
  }
  return list;
}

Json test_json(const DiffReport& report, std::size_t index) {
  const DiffTest& test = report.tests[index];
  Json differences = Json::array();
  for (const EnvironmentDifference& difference : test.environment.list) {
    differences.push_back(
        {{"what", difference.what}, {"baseline", difference.baseline}, {"test", difference.test}});
  }
  const auto mean = mean_worsening(report.comparisons, index);
  return {{"label", test.label},
          {"different_machines", test.environment.different_machines},
          {"differences", differences},
          {"geometric_mean_worsening", mean ? Json(mean->mean) : Json(nullptr)},
          {"only_baseline", cases(test.only_baseline)},
          {"only_test", cases(test.only_test)}};
}

Json percentile_json(const PercentileComparison& found) {
  return {{"percentile", found.percentile},
          {"baseline", found.baseline},
          {"test", found.test},
          {"ratio", found.ratio},
          {"low", low_of(found.ratio_interval)},
          {"high", high_of(found.ratio_interval)}};
}

Json percentiles_json(const DiffReport& report, const Comparison& comparison) {
  Json list = Json::array();
  for (const double percentile : report.percentiles) {
    if (const auto found = compare_percentile(comparison, percentile))
      list.push_back(percentile_json(*found));
  }
  return list;
}

Json shift_json(const DiffReport& report, const Comparison& comparison) {
  Json list = Json::array();
  if (!report.shift) return list;
  for (const auto& [decile, verdict] : shift_function(comparison)) {
    Json json = percentile_json(decile);
    json["verdict"] = to_string(verdict);
    list.push_back(std::move(json));
  }
  return list;
}

Json modes_json(const std::optional<ModeComparison>& modes) {
  if (!modes) return nullptr;
  Json matched = Json::array();
  for (const MatchedMode& mode : modes->matched) {
    matched.push_back({{"ratio", mode.ratio.ratio},
                       {"low", low_of(mode.ratio.interval)},
                       {"high", high_of(mode.ratio.interval)},
                       {"share_change", mode.share_change},
                       {"share_change_low", mode.share_change_interval.low},
                       {"share_change_high", mode.share_change_interval.high}});
  }
  const auto& effect = modes->share_effect;
  return {{"baseline", record_json::write_modes(modes->baseline)},
          {"test", record_json::write_modes(modes->test)},
          {"matched", matched},
          {"share_effect", effect ? Json{{"ratio", effect->ratio},
                                         {"low", low_of(effect->interval)},
                                         {"high", high_of(effect->interval)}}
                                  : Json(nullptr)}};
}

Json tails_json(const Comparison& comparison) {
  Json list = Json::array();
  for (const TailVerdict& tail : comparison.tails) {
    list.push_back({{"percentile", tail.margin.percentile},
                    {"margin", tail.margin.margin},
                    {"ratio", tail.ratio},
                    {"low", low_of(tail.interval)},
                    {"high", high_of(tail.interval)},
                    {"verdict", to_string(tail.verdict)}});
  }
  return list;
}

class ObjectLine {
 public:
  explicit ObjectLine(std::string& text) : text_(text) { text_ += '{'; }
  void end() { text_.back() = '}'; }

  void add(const char* key, const Json& value) {
    begin(key);
    append_json(text_, value);
    text_ += ',';
  }
  void add(const char* key, const std::string& value) {
    begin(key);
    append_json_string(text_, value);
    text_ += ',';
  }
  void add(const char* key, const char* value) { add(key, std::string(value)); }

 private:
  void begin(const char* key) {
    text_ += '"';
    text_ += key;
    text_ += "\":";
  }

  std::string& text_;
};

Json axes_json(const Record& record) {
  Json axes = Json::object();
  for (const auto& [axis, value] : record.axes) axes[axis] = value.text();
  return axes;
}

Json within_runs_json(const Comparison& comparison) {
  if (!comparison.within_runs) return nullptr;
  return {{"low", comparison.within_runs->low},
          {"high", comparison.within_runs->high},
          {"assumed_run_spread", kAssumedSpread}};
}

Json spread_json(const Comparison& comparison) {
  if (!comparison.run_spread) return nullptr;
  return {{"log_sd", comparison.run_spread->log_sd},
          {"degrees", comparison.run_spread->degrees},
          {"source", comparison.known.source}};
}

void append_comparison(std::string& text, const DiffReport& report, const Comparison& comparison) {
  const Record& record = *comparison.baseline;
  const auto& ratio = comparison.ratio;
  const bool bounded = ratio && ratio->interval;
  ObjectLine line(text);
  line.add("test", comparison.test_index);
  line.add("case", case_name(record));
  line.add("axes", axes_json(record));
  line.add("backend", record.model.backend);
  line.add("metric", record.metric.name);
  line.add("unit", comparison.unit);
  line.add("lower_is_better", lower_is_better(comparison.direction));
  line.add("baseline", comparison.baseline_value);
  line.add("test_value", comparison.test_value);
  line.add("ratio", ratio ? Json(ratio->ratio) : Json(nullptr));
  line.add("low", bounded ? Json(ratio->interval->low) : Json(nullptr));
  line.add("high", bounded ? Json(ratio->interval->high) : Json(nullptr));
  line.add("estimator", to_string(comparison.estimator));
  line.add("within_runs", within_runs_json(comparison));
  line.add("run_spread", spread_json(comparison));
  line.add("doubts", comparison.doubts);
  line.add("n", comparison.samples);
  line.add("margin", comparison.margin);
  line.add("verdict", to_string(comparison.verdict));
  line.add("reason", undecided_reason(comparison));
  line.add("p", or_null(comparison.p_value));
  line.add("modes", modes_json(comparison.modes));
  line.add("tails", tails_json(comparison));
  line.add("more_pairs", comparison.more_pairs);
  line.add("problem", comparison.problem);
  line.add("percentiles", percentiles_json(report, comparison));
  line.add("shift", shift_json(report, comparison));
  line.end();
}

Json gate_json(const GateResult& gate) {
  Json counts = Json::object();
  for (const auto& [verdict, count] : gate.counts)
    counts[to_string(verdict)] = counts.value(to_string(verdict), std::size_t{0}) + count;
  return {{"exit", static_cast<int>(gate.exit)},
          {"sentence", gate.sentence},
          {"missing", gate.missing},
          {"counts", counts}};
}

}  // namespace

Table diff_table(const DiffReport& report) {
  const bool backends = any_backend(report);
  Table table(columns_of(report, backends), backends ? 3 : 2);
  const DifferingSettings differ = differences(report);
  const std::vector<std::string> common = common_doubts(report);
  for (const DiffRow& row : rows_of(report)) append_row(table, report, row, backends, differ, common);
  return table;
}

Table percentile_table(const DiffReport& report) {
  Table table(Columns()
                  .left({"case", "metric"})
                  .right({"percentile", "baseline", "candidate", "ratio"})
                  .left({"95 % interval", "verdict"}),
              3);
  const DifferingSettings differ = differences(report);
  for (const Comparison& comparison : report.comparisons) {
    for (const double percentile : report.percentiles) {
      const auto found = compare_percentile(comparison, percentile);
      if (!found) continue;
      table.row({compared_pair(report, comparison, differ), comparison.baseline->metric.name,
                 fmt::format("p{}", percentile), value_cell(found->baseline, comparison),
                 value_cell(found->test, comparison), format_ratio(found->ratio),
                 percentile_interval_text(*found), tail_text(comparison, percentile)});
    }
  }
  return table;
}

Table shift_table(const DiffReport& report) {
  Table table(Columns()
                  .right({"decile", "baseline", "candidate", "ratio"})
                  .left({"95 % interval, all nine", "verdict"}));
  if (!report.shift) return table;
  const DifferingSettings differ = differences(report);
  for (const Comparison& comparison : report.comparisons) {
    const std::vector<DecileShift> shifts = shift_function(comparison);
    if (shifts.empty()) continue;
    table.line(fmt::format("{}, {}: {}", compared_pair(report, comparison, differ),
                           comparison.baseline->metric.name, shift_sentence(comparison, shifts)));
    for (const auto& [decile, verdict] : shifts) {
      table.row({fmt::format("p{}", decile.percentile), value_cell(decile.baseline, comparison),
                 value_cell(decile.test, comparison), format_ratio(decile.ratio),
                 percentile_interval_text(decile), to_string(verdict)});
    }
  }
  return table;
}

Table environment_table(const DiffReport& report) {
  Table table(Columns().left({"differs"}).text("baseline").text("candidate"));
  for (const DiffTest& test : report.tests) {
    if (report.tests.size() > 1 && !test.environment.list.empty()) table.line(test.label);
    for (const EnvironmentDifference& difference : test.environment.list) {
      table.row({difference.what, difference.baseline, difference.test});
    }
  }
  return table;
}

void answer_diff(View& view, const DiffReport& report) {
  for (const DiffTest& test : report.tests) {
    if (!test.environment.different_machines) continue;
    view.answer(
        fmt::format("different machines: {} and {} were not measured on the same one; the difference may "
                    "come from the machine",
                    report.baseline, test.label));
  }
  if (report.gate) {
    view.answer("gate: " + report.gate->sentence, report.gate->exit == ExitCode::kFailure   ? Tone::kBad
                                                  : report.gate->exit == ExitCode::kSuccess ? Tone::kGood
                                                                                            : Tone::kPlain);
  }
  answer_verdicts(view, report);
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

std::vector<std::string> compared_names(const DiffReport& report) {
  const DifferingSettings differ = differences(report);
  std::vector<std::string> names;
  for (const Comparison& comparison : report.comparisons) {
    const std::string& backend = comparison.baseline->model.backend;
    names.push_back(compared_pair(report, comparison, differ) + (backend.empty() ? "" : " " + backend));
  }
  return names;
}

void write_diff_json(const DiffReport& report, const std::function<void(std::string_view)>& write) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < report.tests.size(); ++i) tests.push_back(test_json(report, i));
  write(fmt::format(
      "{{\"headroom_diff\": {{\"schema\": 1}},\n\"baseline\": {},\n\"tests\": {},\n\"comparisons\": [",
      dump_json(report.baseline), dump_json(tests)));
  const char* separator = "\n";
  std::string line;
  for (const Comparison& comparison : report.comparisons) {
    line = separator;
    append_comparison(line, report, comparison);
    write(line);
    separator = ",\n";
  }
  const char* correction = report.multiplicity == Multiplicity::kHolm ? "holm" : "benjamini-hochberg";
  View view;
  answer_diff(view, report);
  write(fmt::format("],\n\"correction\": {},\n\"answer\": {},\n\"gate\": {}}}\n", dump_json(correction),
                    dump_json(Json(view.answers())),
                    report.gate ? dump_json(gate_json(*report.gate)) : "null"));
}

}  // namespace headroom
