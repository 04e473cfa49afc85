// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headroom/compare/mode_comparison.h"
#include "headroom/compare/paired_series.h"
#include "headroom/record/record.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/run_spread.h"

namespace headroom {

/// How the ratio was estimated.
enum class Estimator {
  kNone,      ///< one number each, or nothing
  kPaired,    ///< the two were measured in the same rounds of one session
  kUnpaired,  ///< measured apart, by the samples
  kModes,     ///< measured apart, mode by mode: the samples of both fall into the same groups
  kShares     ///< measured apart, by the shares of the limit: what moved the machine moved both
};

const char* to_string(Estimator estimator);

/// How far runs of a case lie apart, by what is known beside the two sides of a comparison: earlier runs,
/// `headroom run --calibrate-noise`, or what the user says.
struct RunKnowledge {
  std::optional<RunSpread> values;     ///< of the metric
  std::optional<RunSpread> fractions;  ///< of the share of the limit
  std::string source;                  ///< "12 earlier runs on this machine"; empty where nothing is known
};

/// The runs that a record is made of: those that were joined, or the one that it is.
std::vector<RunValue> runs_of(const Record& record);

/// The ratio of two records' values, test over baseline, at any confidence.
///
/// Measured in one session: paired by round (RatioSeries::paired). Measured apart, a sample knows nothing of
/// what differs from run to run, so that the interval also covers what the spread of runs allows for so many
/// runs on each side (run_half_width): the spread of the repeated runs of both sides, pooled with what else
/// is known. Where the samples of both sides fall into the same groups, and none is too small, they are
/// compared mode by mode (ModeSeries): the median of all of them jumps from group to group as their shares
/// change, which are known apart (share_effect). Where every run holds its share of the same limit, the ratio
/// of these shares is another estimate of the same, which a machine that is slower as a whole does not move;
/// the narrower of the two at 95 % is taken.
class ComparedRatio {
 public:
  /// Both with samples, all > 0. `test_factor` takes the test's unit to the baseline's.
  ComparedRatio(const Record& baseline, const Record& test, double test_factor, const RunKnowledge& known);

  RatioEstimate at(double confidence) const;
  /// The groups that the samples of a side fall into, at 95 %; nothing where both are one group, or paired.
  std::optional<ModeComparison> modes() const;
  /// ModeComparison::share_effect, which also covers what the spread of runs allows for.
  std::optional<RatioEstimate> share_effect(double confidence) const;
  Estimator estimator() const { return estimator_; }
  /// Of what is taken, where the two were measured apart; nothing where it is not known.
  const std::optional<RunSpread>& run_spread() const {
    return estimator_ == Estimator::kShares ? share_spread_ : value_spread_;
  }
  /// Of the values themselves, whatever is taken.
  const std::optional<RunSpread>& value_spread() const { return value_spread_; }

  /// See SeriesLocation.
  double neighbour_correlation() const { return series_.neighbour_correlation(); }
  void expect_correlation(double rho);

 private:
  RatioEstimate by_samples(double confidence) const;
  RatioEstimate by_modes(double confidence) const;
  RatioEstimate by_shares(double confidence) const;
  RatioEstimate allowing_for_runs(RatioEstimate estimate, double confidence) const;
  void look_at_shares(const Record& baseline, const Record& test, const RunKnowledge& known);

  ComparedRatio(const std::optional<PairedSeries>& pairs, const Record& baseline, const Record& test,
                double test_factor, const RunKnowledge& known);

  Estimator estimator_;
  std::optional<ModeSeries> modes_;  // before series_: of very many samples not both are made at once
  RatioSeries series_;
  std::vector<RunValue> baseline_, test_;
  std::optional<RunSpread> value_spread_, share_spread_;
  double share_ratio_log_ = 0, share_error_ = 0;  ///< the error at 95 %, of what the samples tell
};

}  // namespace headroom
