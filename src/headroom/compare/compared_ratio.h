// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/modes.h"

namespace headroom {

/// Of every interval that a comparison shows.
inline constexpr double kRatioConfidence = 0.95;

/// A pair of matching modes.
struct MatchedMode {
  RatioEstimate ratio;      ///< of the medians, test over baseline; no interval if a mode has too few samples
  double share_change = 0;  ///< test share minus baseline share
  Interval share_change_interval;
};

/// Comparison of two multimodal samples, mode by mode.
struct ModeComparison {
  Modes baseline, test;              ///< in the baseline's unit; no groups if unimodal
  std::vector<MatchedMode> matched;  ///< empty if the numbers of modes differ
  /// Ratio of the means, test over baseline, from the change of the shares alone, with equal medians of each
  /// mode on both sides. Nothing if the modes do not match, or come in stretches: the shares then depend on
  /// when the samples were taken.
  std::optional<RatioEstimate> share_effect;

  bool in_stretches() const { return baseline.in_stretches || test.in_stretches; }
};

/// Whether the modes match and each ratio has an interval.
bool all_bounded(const ModeComparison& comparison);

/// Modes of two records that were measured separately, for intervals at any confidence.
///
/// The modes are those of find_modes. If only one side has modes (the dip test misses small ones) and its
/// bounds also separate the other side clearly, both sides use them: at least three samples in each mode, and
/// gaps around each bound at least half as wide. If each process lies within one mode, the processes differ
/// as a whole, which series_median_interval and the run-to-run spread cover, and the side counts as unimodal.
///
/// SIM (500 repetitions each, see distribution_test.cpp): modes 30 % apart, noise 1 %, margin 1 %, one and
/// three processes. Shares 50/50 or 80/20, 30 to 100 samples a side: at most 2.0 % false claims; 2.2 % if
/// modes last 5 samples on average, 5.6 % if they last 20. Both modes 3 % slower: found in at least 93.8 % at
/// 50 samples (at 30: 90.0 and 96.2 %; with three processes 62.2 and 84.2 %). Share of the slow mode from 20
/// to 60 %: found in 99.8 % at 100 samples; with three processes 81.4 %. Half-width of the ratio at 50
/// samples and 50/50: 0.6 %.
class ModeSeries {
 public:
  /// Values must be > 0; `test_factor` converts the test's unit to the baseline's. Returns nothing if both
  /// sides are unimodal.
  static std::optional<ModeSeries> of(const Record& baseline, const Record& test, double test_factor);

  /// Returns exp(sum of w ln r) over the modes, with r the ratio of the medians and w the mode's share of the
  /// samples of both sides. No interval if a mode has none; ratio 1 if the modes do not match.
  RatioEstimate ratio_at(double confidence) const;
  /// See ModeComparison.
  std::optional<RatioEstimate> share_effect(double confidence) const;
  ModeComparison at(double confidence) const;
  /// See SeriesMedian.
  void expect_correlation(double rho);

 private:
  /// One mode of both sides.
  struct Group {
    RatioSeries ratio;
    double weight;
    SeriesShare baseline, test;
  };

  ModeSeries(Modes baseline, Modes test) : baseline_(std::move(baseline)), test_(std::move(test)) {}

  Modes baseline_, test_;
  std::vector<Group> groups_;  ///< empty if the modes do not match
  /// Position of the mean between the medians of the lowest mode (0) and the highest (1); with two modes, the
  /// share of the slower.
  std::optional<SeriesShare> baseline_mean_, test_mean_;
  double lowest_ = 0, highest_ = 0;
};

/// Values of both records from the same rounds.
struct PairedSeries {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};

/// Whether both records come from one run of one program, so that equal rounds are paired: the same
/// environment object or session; for files without sessions, the same machine, second and command line.
bool same_session(const Record& a, const Record& b);

/// Returns the pairs after warm-up of two records of one session, with the values of `a` times `factor`.
/// Nothing if the sessions differ or no round is common.
std::optional<PairedSeries> paired_series(const Record& a, const Record& b, double factor = 1);

/// Method that estimated the ratio.
enum class Estimator {
  kNone,      ///< no samples on one or both sides
  kPaired,    ///< paired by the rounds of one session
  kUnpaired,  ///< separate runs, by their samples
  kModes,     ///< separate runs, mode by mode
  kShares     ///< separate runs, by the shares of the limit: changes of the machine cancel
};

const char* to_string(Estimator estimator);

/// Run-to-run spread known from elsewhere than the two sides: earlier runs, `headroom run --calibrate-noise`,
/// or the user.
struct RunKnowledge {
  std::optional<RunSpread> values;     ///< of the metric
  std::optional<RunSpread> fractions;  ///< of the share of the limit
  std::string source;                  ///< "12 earlier runs on this machine"; empty if nothing is known
};

/// Run-to-run spread that is assumed of separate runs if it is unknown, as a relative standard deviation.
/// Source: runs of one case measured apart on the machines of this project lie 1 to 16 % apart
/// (bench/gate_apart.py, `run --calibrate-noise`).
inline constexpr double kAssumedSpread = 0.16;

/// The same as a prior: Student's t with 3 degrees of freedom, because spreads are heavy-tailed. Its 95 %
/// interval of the difference of two runs is that of a normal spread of kAssumedSpread: log_sd = 1.960
/// ln(1.16) / 3.182, a factor of 1.51. At the confidence of 50 cases it is 3.75.
///
/// SIM (bench/assumed_spread.cpp; spreads of 0.5 to 16 %, normal, skewed and heavy-tailed; docs/gate.md): at
/// most 2.4 % of 20,000 gates of one case raise a false alarm, at most 4.5 % of those of 10 or 50 cases. A
/// change by twice the prior, a factor of 2.28, is decided in at least 96.2 %.
inline constexpr RunSpread kAssumedRunSpread{0.091407, 3};

/// Returns "runs apart assumed to vary by up to 16 %".
std::string assumed_spread_clause();

/// Returns the runs that were joined into the record, or the record itself as one run.
std::vector<RunValue> runs_of(const Record& record);

/// The ratio of two records' values, test over baseline, at any confidence.
///
/// Records of one session are paired by round (RatioSeries::paired). For separate runs the interval includes
/// the run-to-run spread for the number of runs on each side (run_half_width): the pooled spread of the runs
/// of both sides and of RunKnowledge. If both sides have the same modes, none too small, they are compared
/// mode by mode (ModeSeries), because the overall median jumps when shares change; share_effect covers the
/// shares. If every run has its share of the same limit, the ratio of the shares is a second estimate,
/// unaffected by a machine that is slower as a whole. The narrower of the two at 95 % is used. If the spread
/// is unknown, kAssumedRunSpread widens the interval, independently of the error of the samples. That error
/// is no wider than the range of the samples: a drift within a run is a part of how runs differ, and 1 % of
/// files of ten independent runs look too correlated for an interval.
class ComparedRatio {
 public:
  /// Both with samples, all > 0. `test_factor` converts the test's unit to the baseline's.
  ComparedRatio(const Record& baseline, const Record& test, double test_factor, const RunKnowledge& known);

  RatioEstimate at(double confidence) const;
  /// Returns the interval at 95 % by the samples alone if at() includes kAssumedRunSpread; otherwise nothing.
  std::optional<Interval> within_runs() const;
  /// Returns the modes of both sides, at 95 %; nothing if both are unimodal or the records are paired.
  std::optional<ModeComparison> modes() const;
  /// Returns ModeComparison::share_effect, widened by the run-to-run spread.
  std::optional<RatioEstimate> share_effect(double confidence) const;
  Estimator estimator() const { return estimator_; }
  /// Returns the spread of the estimate in use; nothing if paired or unknown.
  const std::optional<RunSpread>& run_spread() const {
    return estimator_ == Estimator::kShares ? share_spread_ : value_spread_;
  }
  /// Returns the spread of the values, whichever estimate is in use.
  const std::optional<RunSpread>& value_spread() const { return value_spread_; }

  /// See SeriesLocation.
  double neighbour_correlation() const { return series_.neighbour_correlation(); }
  void expect_correlation(double rho);

 private:
  RatioEstimate of_samples(double confidence) const;
  RatioEstimate of_modes(double confidence) const;
  RatioEstimate by_shares(double confidence) const;
  RatioEstimate allowing_for_runs(RatioEstimate estimate, double confidence) const;
  void look_at_shares(const Record& baseline, const Record& test, const RunKnowledge& known);

  ComparedRatio(const std::optional<PairedSeries>& pairs, const Record& baseline, const Record& test,
                double test_factor, const RunKnowledge& known);

  Estimator estimator_;
  std::optional<ModeSeries> modes_;  // before series_: of very many samples not both are made at once
  RatioSeries series_;
  std::optional<Interval> range_;  ///< of the ratio of any two samples of separate runs; nothing of few
  std::vector<RunValue> baseline_, test_;
  std::optional<RunSpread> value_spread_, share_spread_;
  double share_ratio_log_ = 0, share_error_ = 0;  ///< the error at 95 %, from the samples alone
};

}  // namespace headroom
