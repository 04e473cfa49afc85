// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/modes.h"
#include "headroom/stats/series.h"
#include "headroom/stats/share.h"

namespace headroom {

/// The i-th group of both sides.
struct MatchedMode {
  RatioEstimate ratio;      ///< of the medians, test over baseline; no interval where it has too few samples
  double share_change = 0;  ///< of its shares, test less baseline
  Interval share_change_interval;
};

/// How the groups of times that samples fall into stand to each other.
struct ModeComparison {
  Modes baseline, test;              ///< in the unit of the baseline; no groups where the times are one group
  std::vector<MatchedMode> matched;  ///< empty where the two sides do not have the same number of groups
  /// What the change of the shares alone makes of the mean, test over baseline: the ratio of both means, had
  /// every group the same median on both sides. Nothing where the groups are not matched, or come in
  /// stretches: then shares are an accident of when the samples were taken.
  std::optional<RatioEstimate> share_effect;

  bool in_stretches() const { return baseline.in_stretches || test.in_stretches; }
};

/// Whether the groups are matched, and each has an interval of its ratio.
bool all_bounded(const ModeComparison& comparison);

/// The samples of two records that were measured apart, by the groups they fall into, for intervals at any
/// confidence.
///
/// The groups are those of find_modes. Where only one side shows them (the dip test sees few small groups)
/// and its bounds part the other one as clearly, they are the groups of both: three samples in each at least,
/// and a gap around each bound at least half as wide. Where it is the processes that lie in one group each,
/// they differ as processes do, which series_median_interval and the spread of runs allow for, and the side
/// counts as one group.
///
/// SIM (500 repetitions each, as in mode_comparison_test.cpp): modes 30 % apart, noise of 1 %, margin 1 %,
/// one process and three. Half and half or 80/20, 30 to 100 samples of each side: a false claim in at
/// most 2.0 % of comparisons; where modes stay for 5 samples on average 2.2 %, for 20 5.6 %. 3 % slower in
/// both modes: found in 93.8 % and more at 50 samples (at 30 in 90.0 and 96.2 %, with three processes in 62.2
/// and 84.2 %). The slow mode in 60 % after 20 %: at 100 samples 99.8 %, with three processes 81.4 %.
/// Half-width of the ratio at 50 samples, half and half: 0.6 %.
class ModeSeries {
 public:
  /// Values > 0; `test_factor` takes the test's unit to the baseline's. Nothing where neither side falls into
  /// groups.
  static std::optional<ModeSeries> of(const Record& baseline, const Record& test, double test_factor);

  /// exp(sum of w ln r) over the groups, r the ratio of their medians and w their shares of the samples of
  /// both sides. No interval where a group has none; ratio 1 where the groups are not matched.
  RatioEstimate ratio_at(double confidence) const;
  /// See ModeComparison.
  std::optional<RatioEstimate> share_effect(double confidence) const;
  ModeComparison at(double confidence) const;
  /// See SeriesMedian.
  void expect_correlation(double rho);

 private:
  /// One group of both sides.
  struct Group {
    RatioSeries ratio;
    double weight;
    SeriesShare baseline, test;
  };

  ModeSeries(Modes baseline, Modes test) : baseline_(std::move(baseline)), test_(std::move(test)) {}

  Modes baseline_, test_;
  std::vector<Group> groups_;  ///< empty where they are not matched
  /// Where the mean lies between the medians of the lowest group (0) and the highest (1): with two groups the
  /// share of the slower.
  std::optional<SeriesShare> baseline_mean_, test_mean_;
  double lowest_ = 0, highest_ = 0;
};

}  // namespace headroom
