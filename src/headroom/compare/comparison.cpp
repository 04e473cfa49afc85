// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "headroom/base/text.h"
#include "headroom/record/disturbance.h"
#include "headroom/stats/quantile.h"
#include "headroom/stats/stopping.h"

namespace headroom {
namespace {

enum class Quantity { kTime, kBytes, kByteRate, kOperationRate };

struct Unit {
  std::string_view name;
  Quantity quantity;
  double size;
};

constexpr double kKi = 1024;

constexpr std::array kUnits{
    Unit{"ns", Quantity::kTime, 1},
    Unit{"us", Quantity::kTime, 1e3},
    Unit{"µs", Quantity::kTime, 1e3},
    Unit{"ms", Quantity::kTime, 1e6},
    Unit{"s", Quantity::kTime, 1e9},
    Unit{"sec", Quantity::kTime, 1e9},
    Unit{"seconds", Quantity::kTime, 1e9},
    Unit{"B", Quantity::kBytes, 1},
    Unit{"bytes", Quantity::kBytes, 1},
    Unit{"kB", Quantity::kBytes, 1e3},
    Unit{"KB", Quantity::kBytes, 1e3},
    Unit{"MB", Quantity::kBytes, 1e6},
    Unit{"GB", Quantity::kBytes, 1e9},
    Unit{"KiB", Quantity::kBytes, kKi},
    Unit{"MiB", Quantity::kBytes, kKi* kKi},
    Unit{"GiB", Quantity::kBytes, kKi* kKi* kKi},
    Unit{"B/s", Quantity::kByteRate, 1},
    Unit{"KB/s", Quantity::kByteRate, 1e3},
    Unit{"MB/s", Quantity::kByteRate, 1e6},
    Unit{"GB/s", Quantity::kByteRate, 1e9},
    Unit{"TB/s", Quantity::kByteRate, 1e12},
    Unit{"FLOP/s", Quantity::kOperationRate, 1},
    Unit{"MFLOP/s", Quantity::kOperationRate, 1e6},
    Unit{"GFLOP/s", Quantity::kOperationRate, 1e9},
    Unit{"TFLOP/s", Quantity::kOperationRate, 1e12},
    Unit{"GOP/s", Quantity::kOperationRate, 1e9},
    Unit{"TOP/s", Quantity::kOperationRate, 1e12},
};

constexpr double kAdvisedHalfWidth = 0.01;
constexpr std::size_t kMinSamples = 6;

bool usable(double value) {
  return std::isfinite(value) && value > 0;
}

std::string outcome_text(const char* side, const Outcome& outcome) {
  const char* kind = outcome.kind == Outcome::Kind::kFailed ? "failed" : "was skipped";
  return fmt::format("the {} {}{}", side, kind, outcome.reason.empty() ? "" : ": " + outcome.reason);
}

/// Returns why `values` have no ratio; may be empty.
std::string refusal(const char* side, std::span<const double> values) {
  const auto bad = std::ranges::count_if(values, [](double value) { return !usable(value); });
  if (bad == 0) return {};
  return fmt::format("no ratio: {} of {} values of the {} are zero, negative or not a number", bad,
                     values.size(), side);
}

/// Sets the median, or returns why there is no ratio.
std::string settle_value(const char* side, std::vector<double> values, double& value) {
  std::string problem = refusal(side, values);
  if (problem.empty()) value = quantile_in_place(values, 0.5);
  return problem;
}

bool settle_outcomes(Comparison& result) {
  const Outcome& before = result.baseline->outcome;
  const Outcome& after = result.test->outcome;
  if (before.kind != Outcome::Kind::kMeasured) {
    result.problem = outcome_text("baseline", before);
  } else if (after.kind != Outcome::Kind::kMeasured) {
    result.problem = outcome_text("candidate", after);
    if (after.kind == Outcome::Kind::kFailed) result.verdict = Verdict::kFailed;
  }
  return result.problem.empty();
}

/// Libraries and layout change counts by percents between machines and builds of the system.
bool settle_counts(Comparison& result) {
  const Record &before = *result.baseline, &after = *result.test;
  const bool are_counts =
      before.metric.extra_info.contains(kCountedBy) || after.metric.extra_info.contains(kCountedBy);
  if (are_counts && !same_session(before, after))
    result.problem = "counted apart: only counts of one call of headroom ab compare";
  return result.problem.empty();
}

bool settle_units(Comparison& result) {
  const std::string& from = result.test->metric.unit;
  result.unit = result.baseline->metric.unit;
  const auto factor = unit_factor(from, result.unit);
  if (!factor) {
    result.problem = fmt::format("units cannot be converted: the baseline is in {}, the candidate in {}",
                                 quote(result.unit), quote(from));
  }
  const Direction before = result.baseline->metric.direction, after = result.test->metric.direction;
  result.direction = before == Direction::kUnknown ? after : before;
  if (result.problem.empty() && after != Direction::kUnknown && after != result.direction)
    result.problem = "baseline and candidate disagree on whether lower or higher is better";
  result.test_factor = factor.value_or(1);
  return result.problem.empty();
}

bool all_zero(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) { return value == 0; });
}

/// Returns false without an all-zero side, or for times below the clock's resolution.
bool settle_zeros(Comparison& result, std::span<const double> before, std::span<const double> after) {
  const bool from_zero = all_zero(before), to_zero = all_zero(after);
  const bool is_change =
      (from_zero && std::ranges::all_of(after, usable)) || (to_zero && std::ranges::all_of(before, usable));
  if (from_zero && to_zero) {
    result.verdict = Verdict::kSame;
  } else if (!is_change || unit_factor(result.unit, "s")) {
    return false;
  } else if (result.direction == Direction::kUnknown) {
    result.verdict = Verdict::kChanged;
  } else {
    const bool worse = from_zero == (result.direction == Direction::kLowerIsBetter);
    result.verdict = worse ? Verdict::kRegression : Verdict::kImprovement;
  }
  std::vector<double> sorted_before(before.begin(), before.end()), sorted_after(after.begin(), after.end());
  result.baseline_value = quantile_in_place(sorted_before, 0.5);
  result.test_value = quantile_in_place(sorted_after, 0.5);
  return true;
}

void compare_numbers(Comparison& result) {
  if (settle_zeros(result, std::span(&result.baseline_value, 1), std::span(&result.test_value, 1))) return;
  if (!usable(result.baseline_value) || !usable(result.test_value)) {
    result.problem = refusal("baseline", std::span(&result.baseline_value, 1));
    if (result.problem.empty()) result.problem = refusal("candidate", std::span(&result.test_value, 1));
    return;
  }
  result.ratio = RatioEstimate{result.test_value / result.baseline_value, std::nullopt, 0};
  result.verdict = Verdict::kNoSamples;
}

/// For separate runs.
void add_doubts(Comparison& result) {
  for (const auto& [side, record] : {std::pair{"baseline", result.baseline}, {"candidate", result.test}}) {
    const std::vector<std::string> troubles = disturbance_reasons(*record);
    if (!troubles.empty())
      result.doubts.push_back(fmt::format("the {} was {}", side, join(troubles, " and ")));
  }
}

std::size_t advised_pairs(const RatioEstimate& ratio) {
  if (!ratio.interval) return ratio.pairs < kMinSamples ? kMinSamples - ratio.pairs : 0;
  const double half_width = 0.5 * std::log(ratio.interval->high / ratio.interval->low);
  return samples_needed(ratio.pairs, half_width, std::log1p(kAdvisedHalfWidth));
}

struct LogSide {
  double quantile = 0;
  std::optional<Interval> interval;
};

LogSide log_side(const Series& series, double p, double confidence) {
  std::vector<double> logs;
  for (const double value : series.values) logs.push_back(std::log(value));
  LogSide side{quantile(logs, p), std::nullopt};
  if (p > 0 && p < 1) side.interval = series_quantile_interval(logs, p, series.group_sizes, confidence);
  return side;
}

/// Recovers the variances of both sides (see unpaired_series_ratio) and adds the run-to-run spread.
std::optional<Interval> ratio_interval(const Comparison& comparison, const LogSide& before,
                                       const LogSide& after, double confidence) {
  if (!before.interval || !after.interval) return std::nullopt;
  const double difference = after.quantile - before.quantile;
  double down = std::hypot(after.quantile - after.interval->low, before.interval->high - before.quantile);
  double up = std::hypot(after.interval->high - after.quantile, before.quantile - before.interval->low);
  if (comparison.estimator != Estimator::kPaired) {
    const auto& spread = comparison.value_spread;
    const double runs =
        run_half_width(spread.value_or(kAssumedRunSpread), runs_of(*comparison.baseline).size(),
                       runs_of(*comparison.test).size(), confidence);
    down = spread ? std::max(down, runs) : std::hypot(down, runs);
    up = spread ? std::max(up, runs) : std::hypot(up, runs);
  }
  return Interval{std::exp(difference - down), std::exp(difference + up), confidence};
}

}  // namespace

std::optional<double> unit_factor(std::string_view from, std::string_view to) {
  if (from == to) return 1;
  const auto source = std::ranges::find(kUnits, from, &Unit::name);
  const auto target = std::ranges::find(kUnits, to, &Unit::name);
  if (source == kUnits.end() || target == kUnits.end() || source->quantity != target->quantity)
    return std::nullopt;
  return source->size / target->size;
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::kImprovement:
      return "improvement";
    case Verdict::kRegression:
      return "regression";
    case Verdict::kChanged:
      return "changed";
    case Verdict::kSame:
      return "same";
    case Verdict::kInconclusive:
    case Verdict::kUnderpowered:
    case Verdict::kNoSamples:
      return "inconclusive";
    case Verdict::kFailed:
      return "failed";
    case Verdict::kNotCompared:
      break;
  }
  return "not compared";
}

Comparison compare_records(const Record& baseline, const Record& test, const RunKnowledge& known) {
  Comparison result;
  result.baseline = &baseline;
  result.test = &test;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  result.baseline_value = result.test_value = nan;
  const bool settled = settle_units(result);
  if (!settle_outcomes(result) || !settled) return result;
  result.baseline_value = baseline.metric.value;
  result.test_value = test.metric.value * result.test_factor;
  if (!settle_counts(result)) return result;
  if (sample_count(baseline) == 0 || sample_count(test) == 0) {
    compare_numbers(result);
    return result;
  }
  double before = 0, after = 0;
  result.problem = settle_value("baseline", steady_values(baseline), before);
  if (result.problem.empty())
    result.problem = settle_value("candidate", steady_values(test, result.test_factor), after);
  if (!result.problem.empty()) {
    if (settle_zeros(result, steady_values(baseline), steady_values(test, result.test_factor)))
      result.problem.clear();
    return result;
  }
  result.baseline_value = before;
  result.test_value = after;
  const ComparedRatio ratio(baseline, test, result.test_factor, known);
  result.estimator = ratio.estimator();
  result.ratio = ratio.at(kRatioConfidence);
  result.within_runs = ratio.within_runs();
  result.modes = ratio.modes();
  result.neighbour_correlation = ratio.neighbour_correlation();
  result.known = known;
  result.run_spread = ratio.run_spread();
  result.value_spread = ratio.value_spread();
  if (result.estimator != Estimator::kPaired) add_doubts(result);
  result.samples = result.ratio->pairs;
  result.verdict = Verdict::kInconclusive;
  RatioEstimate of_samples = *result.ratio;
  if (result.within_runs) of_samples.interval = result.within_runs;
  result.more_pairs = advised_pairs(of_samples);
  if (result.modes && result.modes->share_effect)
    result.more_pairs = std::max(result.more_pairs, advised_pairs(*result.modes->share_effect));
  return result;
}

bool lacks_run_spread(const Comparison& comparison) {
  const bool apart = comparison.estimator != Estimator::kNone && comparison.estimator != Estimator::kPaired;
  return apart && !comparison.run_spread;
}

bool is_change(Verdict verdict) {
  return verdict == Verdict::kRegression || verdict == Verdict::kImprovement || verdict == Verdict::kChanged;
}

std::string undecided_reason(const Comparison& comparison) {
  if (comparison.verdict == Verdict::kNoSamples) return "no samples: one value each";
  if (comparison.verdict == Verdict::kUnderpowered) return "too few samples";
  if (comparison.verdict != Verdict::kInconclusive) return "";
  if (!comparison.doubts.empty()) return join(comparison.doubts, "; ");
  if (!comparison.ratio || !comparison.ratio->interval) return "no interval";
  const Interval& interval = *comparison.ratio->interval;
  if (interval.low > 1 + comparison.margin || interval.high < 1 - comparison.margin)
    return "not significant after correction for the number of cases";
  if (lacks_run_spread(comparison)) return assumed_spread_clause();
  return "the interval crosses the margin";
}

RatioEstimate worsening(const RatioEstimate& ratio, Direction direction) {
  if (direction != Direction::kHigherIsBetter) return ratio;
  RatioEstimate turned{1 / ratio.ratio, std::nullopt, ratio.pairs};
  if (ratio.interval) {
    turned.interval = Interval{1 / ratio.interval->high, 1 / ratio.interval->low, ratio.interval->confidence};
  }
  return turned;
}

std::optional<MeanWorsening> mean_worsening(std::span<const Comparison> comparisons, std::size_t test_index) {
  double sum = 0, squares = 0, halves = 0;
  std::size_t count = 0, bounded = 0;
  for (const Comparison& comparison : comparisons) {
    if (!comparison.ratio || comparison.test_index != test_index) continue;
    if (comparison.direction == Direction::kUnknown) continue;
    const RatioEstimate worse = worsening(*comparison.ratio, comparison.direction);
    sum += std::log(worse.ratio);
    ++count;
    const bool is_paired = comparison.estimator == Estimator::kPaired;
    if (!worse.interval || !(is_paired || comparison.run_spread)) continue;
    ++bounded;
    const double half = 0.5 * std::log(worse.interval->high / worse.interval->low);
    (is_paired ? squares : halves) += is_paired ? half * half : half;
  }
  if (count == 0) return std::nullopt;
  const double n = static_cast<double>(count), mean = sum / n;
  MeanWorsening result{std::exp(mean), count, std::nullopt};
  const double half = std::hypot(std::sqrt(squares), halves) / n;
  if (bounded == count)
    result.interval = Interval{std::exp(mean - half), std::exp(mean + half), kRatioConfidence};
  return result;
}

std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile,
                                                       double confidence) {
  if (comparison.estimator == Estimator::kNone) return std::nullopt;
  const double p = percentile / 100;
  const Series before = steady(*comparison.baseline),
               after = steady(*comparison.test, comparison.test_factor);
  const LogSide baseline = log_side(before, p, confidence), test = log_side(after, p, confidence);
  PercentileComparison result;
  result.percentile = percentile;
  result.baseline = quantile(before.values, p);
  result.test = quantile(after.values, p);
  result.baseline_interval = exponential(baseline.interval);
  result.test_interval = exponential(test.interval);
  result.ratio = result.test / result.baseline;
  result.ratio_interval = ratio_interval(comparison, baseline, test, confidence);
  return result;
}

void judge_tails(std::span<Comparison> comparisons, const std::vector<TailMargin>& margins, double alpha) {
  const auto judged = std::ranges::count_if(
      comparisons, [](const Comparison& comparison) { return comparison.estimator != Estimator::kNone; });
  const double looks =
      static_cast<double>(std::max<std::size_t>(1, static_cast<std::size_t>(judged) * margins.size()));
  for (Comparison& comparison : comparisons) {
    comparison.tails.clear();
    for (const TailMargin& margin : margins) {
      const auto shown = compare_percentile(comparison, margin.percentile, kRatioConfidence);
      if (!shown) continue;
      const auto strict = compare_percentile(comparison, margin.percentile, 1 - 2 * alpha / looks);
      comparison.tails.push_back(
          {margin, shown->ratio, shown->ratio_interval,
           tail_verdict(comparison, margin.margin, shown->ratio_interval, strict->ratio_interval)});
    }
  }
}

Verdict tail_verdict(const Comparison& comparison, double margin, const std::optional<Interval>& shown,
                     const std::optional<Interval>& strict) {
  if (!shown) return Verdict::kUnderpowered;
  margin = std::max(margin, kRounding);
  if (!comparison.doubts.empty()) return Verdict::kInconclusive;
  const auto worse = [&](const Interval& interval) {
    return worsening({1, interval, 0}, comparison.direction).interval.value();
  };
  const bool directed = comparison.direction != Direction::kUnknown;
  if (strict && worse(*strict).low > 1 + margin) return directed ? Verdict::kRegression : Verdict::kChanged;
  if (strict && worse(*strict).high < 1 - margin) return directed ? Verdict::kImprovement : Verdict::kChanged;
  const Interval inside = worse(*shown);
  return inside.high <= 1 + margin && inside.low >= 1 - margin ? Verdict::kSame : Verdict::kInconclusive;
}

std::vector<DecileShift> shift_function(const Comparison& comparison) {
  constexpr int kDeciles = 9;
  constexpr double kEach = 1 - (1 - kRatioConfidence) / kDeciles;
  std::vector<DecileShift> shifts;
  for (int decile = 1; decile <= kDeciles; ++decile) {
    const auto found = compare_percentile(comparison, 10.0 * decile, kEach);
    if (!found) return {};
    const auto& interval = found->ratio_interval;
    shifts.push_back({*found, tail_verdict(comparison, comparison.margin, interval, interval)});
  }
  return shifts;
}

}  // namespace headroom
