// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/mode_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include "headroom/stats/mode_bounds.h"

namespace headroom {
namespace {

constexpr std::size_t kFewestInGroup = 3;
/// A bound of the other side parts samples whose gap is at least so wide a share of the gap there.
constexpr double kGapShare = 0.5;

/// Whether the groups are processes rather than samples: changes between them are few in all, but not within
/// processes.
bool is_of_processes(const Series& series, std::span<const double> bounds) {
  return modes_between(series.values, bounds).in_stretches &&
         !modes_between(series.values, bounds, series.group_sizes).in_stretches;
}

std::vector<double> bounds_of(const Record& record, double factor) {
  std::vector<double> bounds = mode_bounds_of([&] { return steady_values(record, factor); });
  if (!bounds.empty() && is_of_processes(steady(record, factor), bounds)) bounds.clear();
  return bounds;
}

/// Of each bound the logarithm of the first value above it over the last one below it; 0 where one side has
/// none.
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

/// The samples of a record, and what takes its unit to that of the baseline.
struct Side {
  const Record& record;
  double factor;

  std::vector<double> values() const { return steady_values(record, factor); }
  /// Without a copy; `work` is also told which process gave the value.
  template <typename Work>
  void for_each_value(const Work& work) const {
    for (std::size_t process = 0; process < record.samples.size(); ++process)
      for (const double value : steady(record.samples[process])) work(value * factor, process);
  }
};

/// Whether the groups of `found` are those of `other` too.
bool are_parted_alike(const Side& found, const Side& other, std::span<const double> bounds) {
  const std::vector<double> expected = gaps_at(found.values(), bounds), values = other.values();
  std::vector<std::size_t> counts(bounds.size() + 1);
  for (const double value : values) ++counts[mode_of(value, bounds)];
  return std::ranges::min(counts) >= kFewestInGroup &&
         std::ranges::equal(gaps_at(values, bounds), expected,
                            [](double gap, double of_found) { return gap >= kGapShare * of_found; });
}

/// Where the logarithms of one group lie, by process.
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

/// The share of samples, each counted as much as `weights` say of its group.
SeriesShare share_of(const Side& side, std::span<const double> bounds, std::span<const double> weights) {
  std::vector<double> counted;
  counted.reserve(sample_count(side.record));
  side.for_each_value([&](double value, std::size_t) { counted.push_back(weights[mode_of(value, bounds)]); });
  return SeriesShare(std::move(counted), steady_sizes(side.record));
}

/// One side by its groups.
struct SideGroups {
  std::vector<SeriesLocation> logs;
  std::vector<SeriesShare> shares;
  std::optional<SeriesShare> mean;  ///< by the levels
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

/// The mean that a share of the highest group stands for.
RatioEstimate mean_of(const SeriesShare& share, double lowest, double highest, double confidence) {
  const Interval interval = share.interval(confidence);
  return {std::lerp(lowest, highest, share.value()),
          Interval{std::lerp(lowest, highest, interval.low), std::lerp(lowest, highest, interval.high),
                   confidence},
          0};
}

}  // namespace

bool all_bounded(const ModeComparison& comparison) {
  return !comparison.matched.empty() && std::ranges::all_of(comparison.matched, [](const MatchedMode& mode) {
    return mode.ratio.interval.has_value();
  });
}

std::optional<ModeSeries> ModeSeries::of(const Record& baseline, const Record& test, double test_factor) {
  // One copy of one side at a time: of very many samples the copies are what takes the memory.
  const Side baseline_side{baseline, 1}, test_side{test, test_factor};
  std::vector<double> before = bounds_of(baseline, 1), after = bounds_of(test, test_factor);
  if (before.empty() && after.empty()) return std::nullopt;
  if (after.empty() && are_parted_alike(baseline_side, test_side, before)) after = before;
  if (before.empty() && are_parted_alike(test_side, baseline_side, after)) before = after;
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

}  // namespace headroom
