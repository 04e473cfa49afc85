// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/compared_ratio.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headroom/compare/paired_series.h"
#include "headroom/stats/distribution.h"

namespace headroom {
namespace {

constexpr double kConfidence = 0.95;

SeriesLocation log_location(const Record& record, double factor) {
  return RatioSeries::log_location(steady_values(record, factor), steady_sizes(record));
}

RatioSeries series_of(const std::optional<PairedSeries>& pairs, const Record& baseline, const Record& test,
                      double factor) {
  if (pairs) return RatioSeries::paired(pairs->a, pairs->b, pairs->group_sizes);
  // One side after the other: of many samples the copies are what takes the memory.
  return RatioSeries::unpaired(log_location(test, factor), log_location(baseline, 1),
                               std::min(sample_count(test), sample_count(baseline)));
}

std::optional<RunSpread> spread_of(const std::vector<RunValue>& baseline, const std::vector<RunValue>& test,
                                   double RunValue::*column) {
  std::array<std::vector<double>, 2> groups;
  for (const RunValue& run : baseline) groups[0].push_back(run.*column);
  for (const RunValue& run : test) groups[1].push_back(run.*column);
  const auto usable = [](double value) { return value > 0 && std::isfinite(value); };
  const bool all =
      std::ranges::all_of(groups, [&](const auto& group) { return std::ranges::all_of(group, usable); });
  return all ? run_spread(groups) : std::nullopt;
}

/// What two runs tell of how far runs lie apart is hardly anything (Student's t is 12.7, with one run
/// more 4.3).
std::optional<RunSpread> if_known(const std::optional<RunSpread>& spread) {
  constexpr std::size_t kFewestDegrees = 2;
  return spread && spread->degrees >= kFewestDegrees ? spread : std::nullopt;
}

bool all_have_shares(const std::vector<RunValue>& runs) {
  return std::ranges::all_of(runs, [](const RunValue& run) { return run.fraction > 0; });
}

/// The same resources at the same sizes; which pattern was the fastest may differ.
bool same_limit(const Limit& a, const Limit& b) {
  return std::ranges::equal(a.parts, b.parts, [](const LimitPart& x, const LimitPart& y) {
    return x.kind == y.kind && x.bytes == y.bytes && x.dtype == y.dtype && x.threads == y.threads;
  });
}

double mean_log_fraction(const std::vector<RunValue>& runs) {
  double sum = 0;
  for (const RunValue& run : runs) sum += std::log(run.fraction);
  return sum / static_cast<double>(runs.size());
}

/// Half the 95 % interval of the mean log fraction, as far as the samples of each run tell.
double error_of_mean(const std::vector<RunValue>& runs) {
  double squares = 0;
  for (const RunValue& run : runs) squares += run.fraction_error * run.fraction_error;
  return std::sqrt(squares) / static_cast<double>(runs.size());
}

double log_width(const RatioEstimate& ratio) {
  return ratio.interval ? std::log(ratio.interval->high / ratio.interval->low) : INFINITY;
}

}  // namespace

const char* to_string(Estimator estimator) {
  switch (estimator) {
    case Estimator::kPaired:
      return "paired";
    case Estimator::kUnpaired:
      return "unpaired";
    case Estimator::kModes:
      return "modes";
    case Estimator::kShares:
      return "shares";
    case Estimator::kNone:
      break;
  }
  return "none";
}

std::vector<RunValue> runs_of(const Record& record) {
  if (!record.runs.empty()) return record.runs;
  RunValue run{record.metric.value, 0, 0};
  if (record.limit && record.limit->interval && record.limit->interval->low > 0 && !record.limit->unstable) {
    run.fraction = record.limit->fraction;
    run.fraction_error = 0.5 * std::log(record.limit->interval->high / record.limit->interval->low);
  }
  return {run};
}

ComparedRatio::ComparedRatio(const Record& baseline, const Record& test, double test_factor,
                             const RunKnowledge& known)
    : ComparedRatio(paired_series(test, baseline, test_factor), baseline, test, test_factor, known) {}

ComparedRatio::ComparedRatio(const std::optional<PairedSeries>& pairs, const Record& baseline,
                             const Record& test, double test_factor, const RunKnowledge& known)
    : estimator_(pairs ? Estimator::kPaired : Estimator::kUnpaired),
      modes_(pairs ? std::nullopt : ModeSeries::of(baseline, test, test_factor)),
      series_(series_of(pairs, baseline, test, test_factor)) {
  if (estimator_ == Estimator::kPaired) return;
  baseline_ = runs_of(baseline);
  test_ = runs_of(test);
  value_spread_ = if_known(pooled(spread_of(baseline_, test_, &RunValue::value), known.values));
  if (modes_ && by_modes(kConfidence).interval) estimator_ = Estimator::kModes;
  look_at_shares(baseline, test, known);
}

void ComparedRatio::expect_correlation(double rho) {
  series_.expect_correlation(rho);
  if (modes_) modes_->expect_correlation(rho);
}

void ComparedRatio::look_at_shares(const Record& baseline, const Record& test, const RunKnowledge& known) {
  const bool have_shares = baseline.limit && test.limit && same_limit(*baseline.limit, *test.limit) &&
                           all_have_shares(baseline_) && all_have_shares(test_);
  if (!have_shares) return;
  share_spread_ = if_known(pooled(spread_of(baseline_, test_, &RunValue::fraction), known.fractions));
  if (!share_spread_) return;
  const double difference = mean_log_fraction(baseline_) - mean_log_fraction(test_);
  share_ratio_log_ = baseline.metric.direction == Direction::kLowerIsBetter ? difference : -difference;
  share_error_ = std::hypot(error_of_mean(baseline_), error_of_mean(test_));
  if (log_width(by_shares(kConfidence)) < log_width(at(kConfidence))) estimator_ = Estimator::kShares;
}

RatioEstimate ComparedRatio::at(double confidence) const {
  if (estimator_ == Estimator::kShares) return by_shares(confidence);
  return estimator_ == Estimator::kModes ? by_modes(confidence) : by_samples(confidence);
}

std::optional<ModeComparison> ComparedRatio::modes() const {
  if (!modes_) return std::nullopt;
  ModeComparison comparison = modes_->at(kConfidence);
  comparison.share_effect = share_effect(kConfidence);
  return comparison;
}

std::optional<RatioEstimate> ComparedRatio::share_effect(double confidence) const {
  std::optional<RatioEstimate> effect = modes_ ? modes_->share_effect(confidence) : std::nullopt;
  if (!effect) return std::nullopt;
  effect->pairs = series_.at(confidence).pairs;
  return allowing_for_runs(*effect, confidence);
}

RatioEstimate ComparedRatio::by_samples(double confidence) const {
  return allowing_for_runs(series_.at(confidence), confidence);
}

RatioEstimate ComparedRatio::by_modes(double confidence) const {
  RatioEstimate estimate = modes_->ratio_at(confidence);
  estimate.pairs = series_.at(confidence).pairs;
  return allowing_for_runs(estimate, confidence);
}

RatioEstimate ComparedRatio::allowing_for_runs(RatioEstimate estimate, double confidence) const {
  if (!estimate.interval || !value_spread_) return estimate;
  const double half = run_half_width(*value_spread_, baseline_.size(), test_.size(), confidence);
  estimate.interval->low = std::min(estimate.interval->low, estimate.ratio * std::exp(-half));
  estimate.interval->high = std::max(estimate.interval->high, estimate.ratio * std::exp(half));
  return estimate;
}

RatioEstimate ComparedRatio::by_shares(double confidence) const {
  const double of_samples =
      share_error_ * normal_quantile(0.5 + 0.5 * confidence) / normal_quantile(0.5 + 0.5 * kConfidence);
  const double of_runs = run_half_width(*share_spread_, baseline_.size(), test_.size(), confidence);
  const double half = std::max(of_samples, of_runs);
  return {std::exp(share_ratio_log_),
          Interval{std::exp(share_ratio_log_ - half), std::exp(share_ratio_log_ + half), confidence},
          series_.at(confidence).pairs};
}

}  // namespace headroom
