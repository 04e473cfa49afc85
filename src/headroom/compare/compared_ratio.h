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

inline constexpr double kRatioConfidence = 0.95;

struct MatchedMode {
  RatioEstimate ratio;  ///< of the medians, test over baseline; no interval with too few samples
  double share_change = 0;
  Interval share_change_interval;
};

struct ModeComparison {
  Modes baseline, test;              ///< in the baseline's unit; no groups if unimodal
  std::vector<MatchedMode> matched;  ///< empty if the numbers of modes differ
  /// Ratio of the means, test over baseline, from changed shares alone. Nothing if the modes do not match or
  /// come in stretches, as shares then depend on the time of sampling.
  std::optional<RatioEstimate> share_effect;

  bool in_stretches() const { return baseline.in_stretches || test.in_stretches; }
};

/// Whether the modes match and each ratio has an interval.
bool all_bounded(const ModeComparison& comparison);

/// Modes of two separate runs, for intervals at any confidence.
///
/// If only one side has modes (the dip test misses small ones) and its bounds also separate the other (three
/// samples in each mode, gaps at least half as wide), both use them. A side with one mode per process counts
/// as unimodal: the run-to-run spread covers the difference.
///
/// SIM (500 repetitions, distribution_test.cpp; modes 30 % apart, noise and margin 1 %, one and three
/// processes). Shares 50/50 or 80/20, 30 to 100 samples a side: at most 2.0 % false claims; 2.2 % if modes
/// last 5 samples on average, 5.6 % if 20. Both modes 3 % slower: found in at least 93.8 % at 50 samples (at
/// 30: 90.0 and 96.2 %; three processes: 62.2 and 84.2 %). Share of the slow mode from 20 to 60 %: found in
/// 99.8 % at 100 samples; three processes: 81.4 %. Half-width at 50 samples and 50/50: 0.6 %.
class ModeSeries {
 public:
  /// Values must be > 0. Returns nothing if both sides are unimodal.
  static std::optional<ModeSeries> of(const Record& baseline, const Record& test, double test_factor);

  /// exp(sum of w ln r) over the modes: r is the ratio of the medians, w the mode's share of all samples. No
  /// interval if a mode has none; 1 if the modes do not match.
  RatioEstimate ratio_at(double confidence) const;
  std::optional<RatioEstimate> share_effect(double confidence) const;
  ModeComparison at(double confidence) const;
  void expect_correlation(double rho);

 private:
  struct Group {
    RatioSeries ratio;
    double weight;
    SeriesShare baseline, test;
  };

  ModeSeries(Modes baseline, Modes test) : baseline_(std::move(baseline)), test_(std::move(test)) {}

  Modes baseline_, test_;
  std::vector<Group> groups_;  ///< empty if the modes do not match
  /// Position of the mean between the medians of the lowest (0) and the highest mode (1).
  std::optional<SeriesShare> baseline_mean_, test_mean_;
  double lowest_ = 0, highest_ = 0;
};

struct PairedSeries {
  std::vector<double> a, b;
  std::vector<std::size_t> group_sizes;
};

/// Whether equal rounds are paired: same environment object or session; without sessions, same machine,
/// second and command line.
bool same_session(const Record& a, const Record& b);

/// Pairs after warm-up, with `a` times `factor`. Nothing if the sessions differ or share no round.
std::optional<PairedSeries> paired_series(const Record& a, const Record& b, double factor = 1);

enum class Estimator {
  kNone,      ///< no samples on a side
  kPaired,    ///< paired by the rounds of one session
  kUnpaired,  ///< separate runs, by their samples
  kModes,     ///< separate runs, mode by mode
  kShares     ///< separate runs, by the shares of the limit: changes of the machine cancel
};

const char* to_string(Estimator estimator);

/// Spread from earlier runs, `headroom run --calibrate-noise`, or the user.
struct RunKnowledge {
  std::optional<RunSpread> values;     ///< of the metric
  std::optional<RunSpread> fractions;  ///< of the share of the limit
  std::string source;                  ///< "12 earlier runs on this machine"; empty: nothing known
};

/// Assumed relative standard deviation of separate runs. Source: one case differs by 1 to 16 % on this
/// project's machines (bench/gate_apart.py, `run --calibrate-noise`).
inline constexpr double kAssumedSpread = 0.16;

/// The same as a prior: Student's t with 3 degrees of freedom, as spreads are heavy-tailed. Its 95 % interval
/// of the difference of two runs equals that of a normal kAssumedSpread: log_sd = 1.960 ln(1.16) / 3.182, a
/// factor of 1.51 (3.75 at the confidence of 50 cases).
///
/// SIM (bench/assumed_spread.cpp; normal, skewed and heavy-tailed spreads of 0.5 to 16 %;
/// docs/results/gate_error_rates.md): false alarms in at most 2.4 % of 20,000 gates of one case, at most 4.5
/// % with 10 or 50 cases. A change by twice the prior, a factor of 2.28, is decided in at least 96.2 %.
inline constexpr RunSpread kAssumedRunSpread{0.091407, 3};

std::string assumed_spread_clause();

/// The joined runs, or the record itself.
std::vector<RunValue> runs_of(const Record& record);

/// Ratio of two records' values, test over baseline, at any confidence.
///
/// One session: paired by round. Separate runs: the interval includes the run-to-run spread, pooled from both
/// sides and RunKnowledge. Equal modes, none too small, are compared one by one (ModeSeries), as the overall
/// median jumps when shares change. If every run has its share of the same limit, the ratio of shares is a
/// second estimate that a slower machine does not affect; the narrower at 95 % is used. An unknown spread is
/// kAssumedRunSpread, independent of the sampling error. That error is at most the range of the samples:
/// drift within a run belongs to the run-to-run spread (1 % of files of ten independent runs look too
/// correlated for an interval).
class ComparedRatio {
 public:
  /// Both need samples > 0. `test_factor` converts the test's unit to the baseline's.
  ComparedRatio(const Record& baseline, const Record& test, double test_factor, const RunKnowledge& known);

  RatioEstimate at(double confidence) const;
  /// 95 % interval from the samples alone, if at() includes kAssumedRunSpread.
  std::optional<Interval> within_runs() const;
  /// At 95 %; nothing if both sides are unimodal or the records are paired.
  std::optional<ModeComparison> modes() const;
  /// Includes the run-to-run spread.
  std::optional<RatioEstimate> share_effect(double confidence) const;
  Estimator estimator() const { return estimator_; }
  /// Spread of the estimate in use; nothing if paired or unknown.
  const std::optional<RunSpread>& run_spread() const {
    return estimator_ == Estimator::kShares ? share_spread_ : value_spread_;
  }
  const std::optional<RunSpread>& value_spread() const { return value_spread_; }

  double neighbour_correlation() const { return series_.neighbour_correlation(); }
  void expect_correlation(double rho);

 private:
  RatioEstimate sample_ratio(double confidence) const;
  RatioEstimate mode_ratio(double confidence) const;
  RatioEstimate share_ratio(double confidence) const;
  RatioEstimate widen_for_runs(RatioEstimate estimate, double confidence) const;
  void compare_shares(const Record& baseline, const Record& test, const RunKnowledge& known);

  ComparedRatio(const std::optional<PairedSeries>& pairs, const Record& baseline, const Record& test,
                double test_factor, const RunKnowledge& known);

  Estimator estimator_;
  std::optional<ModeSeries>
      modes_;  // before series_, so that their temporary copies of many samples never coexist
  RatioSeries series_;
  std::optional<Interval> range_;  ///< of two samples' ratio, separate runs; nothing with few samples
  std::vector<RunValue> baseline_, test_;
  std::optional<RunSpread> value_spread_, share_spread_;
  double share_ratio_log_ = 0, share_error_ = 0;  ///< at 95 %, samples only
};

}  // namespace headroom
