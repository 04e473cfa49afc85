// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/mode_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

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

std::vector<double> bounds_of(const Series& series) {
  std::vector<double> bounds = mode_bounds(series.values);
  if (!bounds.empty() && is_of_processes(series, bounds)) bounds.clear();
  return bounds;
}

/// Logarithm of the first value above the bound over the last one below it; 0 where one side has none.
double gap_at(const std::vector<double>& values, double bound) {
  double below = 0, above = INFINITY;
  for (const double value : values)
    (value < bound ? below : above) = value < bound ? std::max(below, value) : std::min(above, value);
  return below > 0 && std::isfinite(above) ? std::log(above / below) : 0;
}

/// Whether the groups of `found` are those of `other` too.
bool are_parted_alike(const Series& found, const Series& other, std::span<const double> bounds) {
  std::vector<std::size_t> counts(bounds.size() + 1);
  for (const double value : other.values) ++counts[mode_of(value, bounds)];
  return std::ranges::min(counts) >= kFewestInGroup && std::ranges::all_of(bounds, [&](double bound) {
           return gap_at(other.values, bound) >= kGapShare * gap_at(found.values, bound);
         });
}

/// The samples of one group, by process.
Series part_of(const Series& series, std::span<const double> bounds, std::size_t group) {
  Series part;
  std::size_t i = 0;
  for (const std::size_t size : series.group_sizes) {
    const std::size_t before = part.values.size();
    for (const std::size_t end = i + size; i < end; ++i)
      if (mode_of(series.values[i], bounds) == group) part.values.push_back(series.values[i]);
    part.group_sizes.push_back(part.values.size() - before);
  }
  return part;
}

/// The share of samples, each counted as much as `weights` say of its group.
SeriesShare share_of(const Series& series, std::span<const double> bounds, std::span<const double> weights) {
  std::vector<double> counted;
  for (const double value : series.values) counted.push_back(weights[mode_of(value, bounds)]);
  return SeriesShare(counted, series.group_sizes);
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

std::optional<ModeSeries> ModeSeries::of(const Series& baseline, const Series& test) {
  std::vector<double> before = bounds_of(baseline), after = bounds_of(test);
  if (before.empty() && after.empty()) return std::nullopt;
  if (after.empty() && are_parted_alike(baseline, test, before)) after = before;
  if (before.empty() && are_parted_alike(test, baseline, after)) before = after;
  ModeSeries modes(modes_between(baseline.values, before, baseline.group_sizes),
                   modes_between(test.values, after, test.group_sizes));
  if (before.size() != after.size()) return modes;

  std::vector<double> levels;
  for (std::size_t i = 0; i <= before.size(); ++i)
    levels.push_back(std::sqrt(modes.baseline_.groups[i].median * modes.test_.groups[i].median));
  modes.lowest_ = levels.front();
  modes.highest_ = levels.back();
  const double samples = static_cast<double>(baseline.values.size() + test.values.size());
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const Series of_baseline = part_of(baseline, before, i), of_test = part_of(test, after, i);
    std::vector<double> is_of_group(levels.size());
    is_of_group[i] = 1;
    modes.groups_.push_back({RatioSeries::unpaired(of_test.values, of_test.group_sizes, of_baseline.values,
                                                   of_baseline.group_sizes),
                             static_cast<double>(of_baseline.values.size() + of_test.values.size()) / samples,
                             share_of(baseline, before, is_of_group), share_of(test, after, is_of_group)});
  }
  for (double& level : levels)
    level = std::clamp((level - modes.lowest_) / (modes.highest_ - modes.lowest_), 0.0, 1.0);
  modes.baseline_mean_ = share_of(baseline, before, levels);
  modes.test_mean_ = share_of(test, after, levels);
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
