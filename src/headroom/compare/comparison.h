// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/compare/compared_ratio.h"
#include "headroom/record/record.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// Returns the factor from unit `from` to unit `to`: 1000 from "ms" to "us". Knows times, bytes, and rates of
/// bytes and operations; equal units give 1. Nothing if the units measure different quantities.
std::optional<double> unit_factor(std::string_view from, std::string_view to);

/// Verdict on a test against its baseline. Only judge() makes claims.
enum class Verdict {
  kImprovement,   ///< the whole interval is better than the margin
  kRegression,    ///< the whole interval is worse than the margin
  kChanged,       ///< the whole interval is beyond the margin; nobody knows whether that is better
  kSame,          ///< the whole interval is within the margin
  kInconclusive,  ///< the interval crosses the margin, or the claim did not survive the correction
  kUnderpowered,  ///< too few samples for any claim
  kNoSamples,     ///< a ratio of single numbers, without a noise estimate
  kFailed,        ///< the baseline was measured, the test failed
  kNotCompared    ///< no ratio; see Comparison::problem
};

/// Returns one word for all that are undecided, "inconclusive"; undecided_reason() says why.
const char* to_string(Verdict verdict);

/// Allowed growth of a percentile: `--gate 'p95 5%'`.
struct TailMargin {
  double percentile = 95;
  double margin = 0;
};

struct TailVerdict {
  TailMargin margin;
  double ratio = 1;                  ///< test over baseline
  std::optional<Interval> interval;  ///< at 95 %
  Verdict verdict = Verdict::kNotCompared;
};

/// A case measured twice. Points to its two records.
struct Comparison {
  const Record* baseline = nullptr;
  const Record* test = nullptr;
  std::size_t test_index = 0;                       ///< index of the test, for the caller
  std::string unit;                                 ///< of both values; the baseline's unit
  Direction direction = Direction::kLowerIsBetter;  ///< of both; that of one side if the other's is unknown
  double baseline_value = 0;
  double test_value = 0;
  double test_factor = 1;               ///< converts the test's unit to the baseline's
  std::optional<RatioEstimate> ratio;   ///< test over baseline; nothing if a side is zero
  std::optional<Interval> within_runs;  ///< by the samples alone, if `ratio` includes kAssumedRunSpread
  Estimator estimator = Estimator::kNone;
  /// Modes of both sides, if they were measured separately and at least one is multimodal.
  std::optional<ModeComparison> modes;
  std::size_t samples = 0;              ///< pairs, or samples of the smaller side
  RunKnowledge known;                   ///< run-to-run spread known from elsewhere
  std::optional<RunSpread> run_spread;  ///< included in the interval; nothing if paired
  std::optional<RunSpread>
      value_spread;  ///< as run_spread, but always of the values, not of shares of a limit
  /// Reasons why no claim may be made, however narrow the interval; a few words each.
  std::vector<std::string> doubts;
  std::string problem;               ///< why there is no ratio, one sentence
  double neighbour_correlation = 0;  ///< of the log ratios of consecutive rounds

  double margin = 0;  ///< used by judge()
  Verdict verdict = Verdict::kNotCompared;
  std::optional<double>
      p_value;  ///< one-sided, of the claim that the interval supports; adjusted for multiplicity
  std::vector<TailVerdict> tails;  ///< from judge_tails()
  std::size_t more_pairs = 0;      ///< estimated number of further pairs for an interval of +-1 %
};

/// Fills in everything except the verdict of judge(); sets only kNoSamples, kFailed and kNotCompared. Each
/// value is the median of the samples; the ratio is that of ComparedRatio. Adds doubts for troubles_of() a
/// record. Zeros have no ratio but a verdict: 0 twice is the same, a change from or to 0 of anything but a
/// time is a change beyond every margin.
Comparison compare_records(const Record& baseline, const Record& test, const RunKnowledge& known = {});

/// Whether the runs are separate and their run-to-run spread is unknown.
bool lacks_run_spread(const Comparison& comparison);

/// Whether it is an improvement, a regression, or a change of unknown direction.
bool is_change(Verdict verdict);

/// Returns why the verdict is inconclusive, in a few words; empty if it is not.
std::string undecided_reason(const Comparison& comparison);

/// Returns the ratio inverted if needed, so that more than 1 is worse; unchanged if the direction is unknown.
RatioEstimate worsening(const RatioEstimate& ratio, Direction direction);

/// Geometric mean of worsening() over metrics of known direction.
struct MeanWorsening {
  double mean = 1;
  std::size_t cases = 0;  ///< number of cases with a ratio
  /// Nothing if a case has no interval or its run-to-run spread is unknown. Errors of cases of one session
  /// are independent. Separate runs may share an error in all cases, so their half-widths are averaged.
  std::optional<Interval> interval{};
};

/// Returns the mean over the comparisons of one test that have a ratio; nothing if none has.
std::optional<MeanWorsening> mean_worsening(std::span<const Comparison> comparisons,
                                            std::size_t test_index = 0);

/// One percentile of both sides, with its series_quantile_interval; no interval if the sample is too small.
struct PercentileComparison {
  double percentile = 50;
  double baseline = 0, test = 0;  ///< in the comparison's unit
  std::optional<Interval> baseline_interval, test_interval;
  double ratio = 1;  ///< test over baseline
  std::optional<Interval> ratio_interval;
};

/// Returns nothing for a comparison without samples. `percentile` is from 0 to 100.
std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile,
                                                       double confidence = 0.95);

/// Judges each percentile of each comparison with samples: a longer tail is a regression even if the median
/// stays. Claims are tested at alpha over the number of percentiles (Bonferroni).
void judge_tails(std::span<Comparison> comparisons, const std::vector<TailMargin>& margins,
                 double alpha = 0.05);

/// Returns the verdict on a ratio of percentiles from its interval at 95 % (`shown`) and at the confidence of
/// claims (`strict`).
Verdict tail_verdict(const Comparison& comparison, double margin, const std::optional<Interval>& shown,
                     const std::optional<Interval>& strict);

/// One point of a shift function.
struct DecileShift {
  PercentileComparison decile;
  Verdict verdict = Verdict::kNotCompared;  ///< against the comparison's margin
};

/// Returns the shift function: each decile from 10 to 90 % against the baseline's. The nine intervals hold
/// jointly at 95 % (Bonferroni). Empty for a comparison without samples. SIM (1,000 repetitions each;
/// lognormal, AR(1) with rho 0 and .5, 60 to 300 values of one or three processes a side, no difference): at
/// most 2.0 % of tables have an interval without 1. Source: Doksum, Empirical probability plots and
/// statistical inference for nonlinear models in the two-sample case, 1974.
std::vector<DecileShift> shift_function(const Comparison& comparison);

}  // namespace headroom
