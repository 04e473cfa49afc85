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

/// 1000 from "ms" to "us"; nothing for different quantities.
std::optional<double> unit_factor(std::string_view from, std::string_view to);

/// In a metric's extra_info: its counter ("callgrind"). Such counts are compared within a run only, as
/// libraries and layout change them by percents.
inline constexpr const char* kCountedBy = "counted_by";

/// Only judge() makes claims.
enum class Verdict {
  kImprovement,  ///< whole interval beyond the margin
  kRegression,
  kChanged,       ///< as above, of unknown direction
  kSame,          ///< whole interval within the margin
  kInconclusive,  ///< the interval crosses the margin, or the correction forbids a claim
  kUnderpowered,  ///< too few samples for any claim
  kNoSamples,     ///< single numbers, no noise estimate
  kFailed,        ///< the baseline was measured, the test failed
  kNotCompared    ///< no ratio; see Comparison::problem
};

/// "inconclusive" for all undecided verdicts.
const char* to_string(Verdict verdict);

/// Allowed growth of a percentile: `--gate 'p95 5%'`.
struct TailMargin {
  double percentile = 95;
  double margin = 0;
};

struct TailVerdict {
  TailMargin margin;
  double ratio = 1;
  std::optional<Interval> interval;  ///< at 95 %
  Verdict verdict = Verdict::kNotCompared;
};

/// A case measured twice; does not own the records.
struct Comparison {
  const Record* baseline = nullptr;
  const Record* test = nullptr;
  std::size_t test_index = 0;
  std::string unit;                                 ///< of both values; the baseline's unit
  Direction direction = Direction::kLowerIsBetter;  ///< that of one side if the other's is unknown
  double baseline_value = 0;
  double test_value = 0;
  double test_factor = 1;
  std::optional<RatioEstimate> ratio;   ///< test over baseline; nothing if a side is zero
  std::optional<Interval> within_runs;  ///< from samples alone, if `ratio` includes kAssumedRunSpread
  Estimator estimator = Estimator::kNone;
  /// For separate runs with a multimodal side.
  std::optional<ModeComparison> modes;
  std::size_t samples = 0;  ///< pairs, or samples of the smaller side
  RunKnowledge known;
  std::optional<RunSpread> run_spread;    ///< included in the interval; nothing if paired
  std::optional<RunSpread> value_spread;  ///< of the values, even if run_spread is that of shares of a limit
  /// Why no claim may be made, a few words each.
  std::vector<std::string> doubts;
  std::string problem;               ///< why there is no ratio
  double neighbour_correlation = 0;  ///< of the log ratios of consecutive rounds

  double margin = 0;
  Verdict verdict = Verdict::kNotCompared;
  std::optional<double> p_value;   ///< one-sided, of the claim; adjusted for multiplicity
  std::vector<TailVerdict> tails;  ///< from judge_tails()
  std::size_t more_pairs = 0;      ///< estimate, for an interval of +-1 %
};

/// Leaves the verdict to judge(), except kNoSamples, kFailed, kNotCompared and zeros: 0 twice is the same; a
/// change from or to 0 of anything but a time is beyond every margin. Values are medians. Doubts come from
/// disturbance_reasons().
Comparison compare_records(const Record& baseline, const Record& test, const RunKnowledge& known = {});

/// Whether the runs are separate with unknown spread.
bool lacks_run_spread(const Comparison& comparison);

bool is_change(Verdict verdict);

/// Empty for other verdicts.
std::string undecided_reason(const Comparison& comparison);

/// Inverts the ratio if needed: more than 1 is worse.
RatioEstimate worsening(const RatioEstimate& ratio, Direction direction);

/// Geometric mean of worsening() over metrics of known direction.
struct MeanWorsening {
  double mean = 1;
  std::size_t cases = 0;
  /// Nothing if a case has no interval or unknown spread. Half-widths of separate runs are averaged, as they
  /// may share an error; within a session errors are independent.
  std::optional<Interval> interval{};
};

/// Nothing without ratios.
std::optional<MeanWorsening> mean_worsening(std::span<const Comparison> comparisons,
                                            std::size_t test_index = 0);

/// No interval if the sample is too small.
struct PercentileComparison {
  double percentile = 50;
  double baseline = 0, test = 0;
  std::optional<Interval> baseline_interval, test_interval;
  double ratio = 1;
  std::optional<Interval> ratio_interval;
};

/// Nothing without samples. `percentile`: 0 to 100.
std::optional<PercentileComparison> compare_percentile(const Comparison& comparison, double percentile,
                                                       double confidence = 0.95);

/// Claims are tested at alpha over their number (Bonferroni).
void judge_tails(std::span<Comparison> comparisons, const std::vector<TailMargin>& margins,
                 double alpha = 0.05);

/// `shown` at 95 %, `strict` at the confidence of claims.
Verdict tail_verdict(const Comparison& comparison, double margin, const std::optional<Interval>& shown,
                     const std::optional<Interval>& strict);

struct DecileShift {
  PercentileComparison decile;
  Verdict verdict = Verdict::kNotCompared;
};

/// Deciles from 10 to 90 % against the baseline's; the nine intervals hold jointly at 95 % (Bonferroni).
/// Empty without samples. SIM (1,000 repetitions; lognormal, AR(1) with rho 0 and .5, 60 to 300 values of one
/// or three processes a side, no difference): at most 2.0 % of tables have an interval without 1. Source:
/// Doksum, Empirical probability plots and statistical inference for nonlinear models in the two-sample case,
/// 1974.
std::vector<DecileShift> shift_function(const Comparison& comparison);

}  // namespace headroom
