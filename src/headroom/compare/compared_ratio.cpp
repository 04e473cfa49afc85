// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/compared_ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <unordered_map>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::size_t kMinGroupSize = 3;
/// Relative to the other side's gap.
constexpr double kGapShare = 0.5;

/// Whether the modes are processes: the mode rarely changes within a process.
bool is_of_processes(const Series& series, std::span<const double> bounds) {
  return modes_between(series.values, bounds).in_stretches &&
         !modes_between(series.values, bounds, series.group_sizes).in_stretches;
}

std::vector<double> bounds_of(const Record& record, double factor) {
  std::vector<double> bounds = mode_bounds_of([&] { return steady_values(record, factor); });
  if (!bounds.empty() && is_of_processes(steady(record, factor), bounds)) bounds.clear();
  return bounds;
}

/// For each bound ln(first value above / last below); 0 if a side is empty.
std::vector<double> gaps_at(const std::vector<double>& values, std::span<const double> bounds) {
  std::vector<double> gaps;
  for (const double bound : bounds) {
    double below = 0, above = INFINITY;
    for (const double value : values)
      (value < bound ? below : above) = value < bound ? std::max(below, value) : std::min(above, value);
    gaps.push_back(below > 0 && std::isfinite(above) ? std::log(above / below) : 0);
  }
  return gaps;
}

struct Side {
  const Record& record;
  double factor;

  std::vector<double> values() const { return steady_values(record, factor); }
  template <typename Work>
  void for_each_value(const Work& work) const {
    for (std::size_t process = 0; process < record.samples.size(); ++process)
      for (const double value : steady(record.samples[process])) work(value * factor, process);
  }
};

bool have_similar_modes(const Side& found, const Side& other, std::span<const double> bounds) {
  const std::vector<double> expected = gaps_at(found.values(), bounds), values = other.values();
  std::vector<std::size_t> counts(bounds.size() + 1);
  for (const double value : values) ++counts[mode_of(value, bounds)];
  return std::ranges::min(counts) >= kMinGroupSize &&
         std::ranges::equal(gaps_at(values, bounds), expected,
                            [](double gap, double of_found) { return gap >= kGapShare * of_found; });
}

SeriesLocation location_of(const Side& side, std::span<const double> bounds, std::size_t group) {
  std::vector<std::size_t> sizes(side.record.samples.size());
  std::size_t count = 0;
  side.for_each_value([&](double value, std::size_t process) {
    if (mode_of(value, bounds) != group) return;
    ++sizes[process];
    ++count;
  });
  std::vector<double> part;
  part.reserve(count);
  side.for_each_value([&](double value, std::size_t) {
    if (mode_of(value, bounds) == group) part.push_back(value);
  });
  return RatioSeries::log_location(std::move(part), sizes);
}

SeriesShare share_of(const Side& side, std::span<const double> bounds, std::span<const double> weights) {
  std::vector<double> counted;
  counted.reserve(sample_count(side.record));
  side.for_each_value([&](double value, std::size_t) { counted.push_back(weights[mode_of(value, bounds)]); });
  return SeriesShare(std::move(counted), steady_sizes(side.record));
}

struct SideGroups {
  std::vector<SeriesLocation> logs;
  std::vector<SeriesShare> shares;
  std::optional<SeriesShare> mean;
};

SideGroups groups_of(const Side& side, std::span<const double> bounds, std::span<const double> levels) {
  SideGroups groups;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    groups.logs.push_back(location_of(side, bounds, i));
    std::vector<double> is_of_group(levels.size());
    is_of_group[i] = 1;
    groups.shares.push_back(share_of(side, bounds, is_of_group));
  }
  groups.mean = share_of(side, bounds, levels);
  return groups;
}

RatioEstimate mean_of(const SeriesShare& share, double lowest, double highest, double confidence) {
  const Interval interval = share.interval(confidence);
  return {std::lerp(lowest, highest, share.value()),
          Interval{std::lerp(lowest, highest, interval.low), std::lerp(lowest, highest, interval.high),
                   confidence},
          0};
}

/// Rounds that never repeat identify pairs alone, even across runner restarts; else with the process.
bool rounds_are_unique(const Record& record) {
  std::optional<std::uint32_t> last;
  for (const ProcessSamples& process : record.samples) {
    for (const std::uint32_t round : process.rounds) {
      if (last && round <= *last) return false;
      last = round;
    }
  }
  return true;
}

/// Keys of the steady values; empty if rounds are unknown.
std::vector<std::uint64_t> slots_of(const Record& record) {
  std::vector<std::uint64_t> slots;
  const bool in_rounds = std::ranges::all_of(record.samples, [](const ProcessSamples& process) {
    return process.rounds.size() == process.values.size();
  });
  if (!in_rounds) return slots;
  const bool unique = rounds_are_unique(record);
  for (std::size_t p = 0; p < record.samples.size(); ++p) {
    const ProcessSamples& process = record.samples[p];
    for (std::size_t i = process.warmup; i < process.rounds.size(); ++i) {
      slots.push_back((unique ? 0 : std::uint64_t{p} << 32) | process.rounds[i]);
    }
  }
  return slots;
}

/// Needs an index only if rounds do not ascend.
class PartnerSearch {
 public:
  explicit PartnerSearch(std::vector<std::uint64_t> slots)
      : slots_(std::move(slots)), ascending_(std::ranges::is_sorted(slots_)) {
    if (ascending_) return;
    for (std::size_t i = 0; i < slots_.size(); ++i) places_.emplace(slots_[i], i);
  }

  std::optional<std::size_t> of(std::uint64_t slot) const {
    if (ascending_) {
      const auto found = std::ranges::lower_bound(slots_, slot);
      if (found == slots_.end() || *found != slot) return std::nullopt;
      return static_cast<std::size_t>(found - slots_.begin());
    }
    const auto found = places_.find(slot);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<std::uint64_t> slots_;
  bool ascending_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

SeriesLocation log_location(const Record& record, double factor) {
  return RatioSeries::log_location(steady_values(record, factor), steady_sizes(record));
}

RatioSeries series_of(const std::optional<PairedSeries>& pairs, const Record& baseline, const Record& test,
                      double factor) {
  if (pairs) return RatioSeries::paired(pairs->a, pairs->b, pairs->group_sizes);
  // One side at a time: copies of many samples dominate memory.
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

/// Two runs hardly determine the spread (Student's t is 12.7; 4.3 with three).
std::optional<RunSpread> usable_spread(const std::optional<RunSpread>& spread) {
  constexpr std::size_t kMinDegrees = 2;
  return spread && spread->degrees >= kMinDegrees ? spread : std::nullopt;
}

bool all_have_shares(const std::vector<RunValue>& runs) {
  return std::ranges::all_of(runs, [](const RunValue& run) { return run.fraction > 0; });
}

/// The fastest pattern may differ.
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

/// Half-width of the 95 % interval of the mean log fraction.
double error_of_mean(const std::vector<RunValue>& runs) {
  double squares = 0;
  for (const RunValue& run : runs) squares += run.fraction_error * run.fraction_error;
  return std::sqrt(squares) / static_cast<double>(runs.size());
}

/// Nothing below the samples of an interval.
std::optional<Interval> range_of_ratio(const Record& baseline, const Record& test, double test_factor) {
  constexpr std::size_t kMin = 6;
  if (std::min(sample_count(baseline), sample_count(test)) < kMin) return std::nullopt;
  const auto extremes = [](const Record& record) {
    Interval range{INFINITY, 0, 1};
    for (const ProcessSamples& process : record.samples) {
      for (const double value : steady(process)) {
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
    }
    return range;
  };
  const Interval of_baseline = extremes(baseline), of_test = extremes(test);
  return Interval{test_factor * of_test.low / of_baseline.high, test_factor * of_test.high / of_baseline.low,
                  1};
}

double log_width(const RatioEstimate& ratio) {
  return ratio.interval ? std::log(ratio.interval->high / ratio.interval->low) : INFINITY;
}

}  // namespace

bool all_bounded(const ModeComparison& comparison) {
  return !comparison.matched.empty() && std::ranges::all_of(comparison.matched, [](const MatchedMode& mode) {
    return mode.ratio.interval.has_value();
  });
}

std::optional<ModeSeries> ModeSeries::of(const Record& baseline, const Record& test, double test_factor) {
  const Side baseline_side{baseline, 1}, test_side{test, test_factor};
  std::vector<double> before = bounds_of(baseline, 1), after = bounds_of(test, test_factor);
  if (before.empty() && after.empty()) return std::nullopt;
  if (after.empty() && have_similar_modes(baseline_side, test_side, before)) after = before;
  if (before.empty() && have_similar_modes(test_side, baseline_side, after)) before = after;
  ModeSeries modes(modes_between(baseline_side.values(), before, steady_sizes(baseline)),
                   modes_between(test_side.values(), after, steady_sizes(test)));
  if (before.size() != after.size()) return modes;

  std::vector<double> levels;
  for (std::size_t i = 0; i <= before.size(); ++i)
    levels.push_back(std::sqrt(modes.baseline_.groups[i].median * modes.test_.groups[i].median));
  modes.lowest_ = levels.front();
  modes.highest_ = levels.back();
  for (double& level : levels)
    level = std::clamp((level - modes.lowest_) / (modes.highest_ - modes.lowest_), 0.0, 1.0);
  SideGroups of_baseline = groups_of(baseline_side, before, levels),
             of_test = groups_of(test_side, after, levels);
  const auto samples = static_cast<double>(sample_count(baseline) + sample_count(test));
  for (std::size_t i = 0; i < levels.size(); ++i) {
    SeriesLocation &log_baseline = of_baseline.logs[i], &log_test = of_test.logs[i];
    const std::size_t counts[] = {log_baseline.count(), log_test.count()};
    modes.groups_.push_back(
        {RatioSeries::unpaired(std::move(log_test), std::move(log_baseline), std::ranges::min(counts)),
         static_cast<double>(counts[0] + counts[1]) / samples, of_baseline.shares[i], of_test.shares[i]});
  }
  modes.baseline_mean_ = of_baseline.mean;
  modes.test_mean_ = of_test.mean;
  return modes;
}

RatioEstimate ModeSeries::ratio_at(double confidence) const {
  if (groups_.empty()) return {};
  std::vector<RatioEstimate> ratios;
  std::vector<double> weights;
  for (const Group& group : groups_) {
    ratios.push_back(group.ratio.at(confidence));
    weights.push_back(group.weight);
  }
  return weighted_product(ratios, weights);
}

std::optional<RatioEstimate> ModeSeries::share_effect(double confidence) const {
  if (groups_.empty() || baseline_.in_stretches || test_.in_stretches) return std::nullopt;
  return weighted_product(std::array{mean_of(*test_mean_, lowest_, highest_, confidence),
                                     mean_of(*baseline_mean_, lowest_, highest_, confidence)},
                          std::array{1.0, -1.0});
}

ModeComparison ModeSeries::at(double confidence) const {
  ModeComparison comparison{baseline_, test_, {}, share_effect(confidence)};
  for (const Group& group : groups_) {
    comparison.matched.push_back({group.ratio.at(confidence), group.test.value() - group.baseline.value(),
                                  share_difference_interval(group.test, group.baseline, confidence)});
  }
  return comparison;
}

void ModeSeries::expect_correlation(double rho) {
  for (Group& group : groups_) {
    group.ratio.expect_correlation(rho);
    group.baseline.expect_correlation(rho);
    group.test.expect_correlation(rho);
  }
  if (baseline_mean_) baseline_mean_->expect_correlation(rho);
  if (test_mean_) test_mean_->expect_correlation(rho);
}

bool same_session(const Record& a, const Record& b) {
  if (!a.environment || !b.environment) return false;
  if (a.environment == b.environment) return true;
  const Environment& left = *a.environment;
  const Environment& right = *b.environment;
  if (!left.session.empty() && !right.session.empty()) return left.session == right.session;
  return left.timestamp != 0 && left.timestamp == right.timestamp && !left.fingerprint.empty() &&
         left.fingerprint == right.fingerprint && left.command == right.command;
}

std::optional<PairedSeries> paired_series(const Record& a, const Record& b, double factor) {
  if (!same_session(a, b) || rounds_are_unique(a) != rounds_are_unique(b)) return std::nullopt;
  const Series in_a = steady(a, factor), in_b = steady(b);
  const std::vector<std::uint64_t> slots = slots_of(a);
  const PartnerSearch partners(slots_of(b));
  PairedSeries pairs;
  std::size_t i = 0;
  for (const std::size_t size : in_a.group_sizes) {
    const std::size_t before = pairs.a.size();
    for (const std::size_t end = std::min(i + size, slots.size()); i < end; ++i) {
      const auto partner = partners.of(slots[i]);
      if (!partner) continue;
      pairs.a.push_back(in_a.values[i]);
      pairs.b.push_back(in_b.values[*partner]);
    }
    if (pairs.a.size() > before) pairs.group_sizes.push_back(pairs.a.size() - before);
  }
  if (pairs.a.empty()) return std::nullopt;
  return pairs;
}

const char* to_string(Estimator estimator) {
  static constexpr const char* kNames[] = {"none", "paired", "unpaired", "modes", "shares"};
  return kNames[static_cast<std::size_t>(estimator)];
}

std::string assumed_spread_clause() {
  return fmt::format("run-to-run spread assumed up to {:.0f} %", 100 * kAssumedSpread);
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
  range_ = range_of_ratio(baseline, test, test_factor);
  value_spread_ = usable_spread(pooled(spread_of(baseline_, test_, &RunValue::value), known.values));
  if (modes_ && mode_ratio(kRatioConfidence).interval) estimator_ = Estimator::kModes;
  compare_shares(baseline, test, known);
}

void ComparedRatio::expect_correlation(double rho) {
  series_.expect_correlation(rho);
  if (modes_) modes_->expect_correlation(rho);
}

void ComparedRatio::compare_shares(const Record& baseline, const Record& test, const RunKnowledge& known) {
  const bool have_shares = baseline.limit && test.limit && same_limit(*baseline.limit, *test.limit) &&
                           all_have_shares(baseline_) && all_have_shares(test_) &&
                           baseline.metric.direction != Direction::kUnknown;
  if (!have_shares) return;
  share_spread_ = usable_spread(pooled(spread_of(baseline_, test_, &RunValue::fraction), known.fractions));
  if (!share_spread_) return;
  const double difference = mean_log_fraction(baseline_) - mean_log_fraction(test_);
  share_ratio_log_ = baseline.metric.direction == Direction::kLowerIsBetter ? difference : -difference;
  share_error_ = std::hypot(error_of_mean(baseline_), error_of_mean(test_));
  if (log_width(share_ratio(kRatioConfidence)) < log_width(at(kRatioConfidence)))
    estimator_ = Estimator::kShares;
}

RatioEstimate ComparedRatio::at(double confidence) const {
  if (estimator_ == Estimator::kShares) return share_ratio(confidence);
  return widen_for_runs(sample_ratio(confidence), confidence);
}

std::optional<Interval> ComparedRatio::within_runs() const {
  const bool assumed = estimator_ == Estimator::kUnpaired || estimator_ == Estimator::kModes;
  return assumed && !value_spread_ ? sample_ratio(kRatioConfidence).interval : std::nullopt;
}

std::optional<ModeComparison> ComparedRatio::modes() const {
  if (!modes_) return std::nullopt;
  ModeComparison comparison = modes_->at(kRatioConfidence);
  comparison.share_effect = share_effect(kRatioConfidence);
  return comparison;
}

std::optional<RatioEstimate> ComparedRatio::share_effect(double confidence) const {
  std::optional<RatioEstimate> effect = modes_ ? modes_->share_effect(confidence) : std::nullopt;
  if (!effect) return std::nullopt;
  effect->pairs = series_.at(confidence).pairs;
  return widen_for_runs(*effect, confidence);
}

RatioEstimate ComparedRatio::sample_ratio(double confidence) const {
  if (estimator_ == Estimator::kModes) return mode_ratio(confidence);
  RatioEstimate estimate = series_.at(confidence);
  if (value_spread_ || !range_) return estimate;
  const Interval of_series = estimate.interval.value_or(*range_);
  estimate.interval =
      Interval{std::max(of_series.low, range_->low), std::min(of_series.high, range_->high), confidence};
  return estimate;
}

RatioEstimate ComparedRatio::mode_ratio(double confidence) const {
  RatioEstimate estimate = modes_->ratio_at(confidence);
  estimate.pairs = series_.at(confidence).pairs;
  return estimate;
}

RatioEstimate ComparedRatio::widen_for_runs(RatioEstimate estimate, double confidence) const {
  if (!estimate.interval || estimator_ == Estimator::kPaired) return estimate;
  const double half =
      run_half_width(value_spread_.value_or(kAssumedRunSpread), baseline_.size(), test_.size(), confidence);
  double down = std::log(estimate.ratio / estimate.interval->low);
  double up = std::log(estimate.interval->high / estimate.ratio);
  // A spread learned from the values of runs includes the error of their samples.
  down = value_spread_ ? std::max(down, half) : std::hypot(down, half);
  up = value_spread_ ? std::max(up, half) : std::hypot(up, half);
  estimate.interval->low = estimate.ratio * std::exp(-down);
  estimate.interval->high = estimate.ratio * std::exp(up);
  return estimate;
}

RatioEstimate ComparedRatio::share_ratio(double confidence) const {
  const double sample_ratio =
      share_error_ * normal_quantile(0.5 + 0.5 * confidence) / normal_quantile(0.5 + 0.5 * kRatioConfidence);
  const double of_runs = run_half_width(*share_spread_, baseline_.size(), test_.size(), confidence);
  const double half = std::max(sample_ratio, of_runs);
  return {std::exp(share_ratio_log_),
          Interval{std::exp(share_ratio_log_ - half), std::exp(share_ratio_log_ + half), confidence},
          series_.at(confidence).pairs};
}

}  // namespace headroom
