// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom/compare/compared_ratio.h"
#include "headroom/record/record.h"
#include "headroom/stats/compare.h"

namespace headroom {

/// What may be said about a test against its baseline. Only judge() gives one that claims something.
enum class Verdict {
  kImprovement,   ///< the whole interval is on the better side of the margin
  kRegression,    ///< the whole interval is on the worse side of the margin
  kSame,          ///< the whole interval is within the margin
  kInconclusive,  ///< the interval reaches over an edge of the margin, or too many cases were looked at
  kUnderpowered,  ///< too few samples for any claim, whatever they had been
  kNoSamples,     ///< one number each: a ratio, but nothing to tell it from noise
  kFailed,        ///< the baseline was measured and the test failed
  kNotCompared    ///< no ratio: see Comparison::problem
};

const char* to_string(Verdict verdict);

/// How much a percentile may grow: `--gate 'p95 5%'`.
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

/// One case, measured twice. Points to its two records.
struct Comparison {
  const Record* baseline = nullptr;
  const Record* test = nullptr;
  std::size_t test_index = 0;  ///< which of several tests; for the caller
  std::string unit;            ///< of both values: the baseline's
  double baseline_value = 0;
  double test_value = 0;
  double test_factor = 1;              ///< from the test's unit to the baseline's
  std::optional<RatioEstimate> ratio;  ///< test over baseline
  Estimator estimator = Estimator::kNone;
  /// The groups that the samples of either side fall into, where they were measured apart and are not one
  /// group.
  std::optional<ModeComparison> modes;
  std::size_t samples = 0;                ///< pairs, or the samples of the side that has fewer
  RunKnowledge known;                     ///< how far runs lie apart, beside what the two sides tell
  std::optional<RunSpread> run_spread;    ///< that the interval allows for; nothing where they were paired
  std::optional<RunSpread> value_spread;  ///< likewise, for what compares values and not shares of a limit
  /// Why no claim may rest on this, however narrow the interval is; each a few words.
  std::vector<std::string> doubts;
  std::string problem;               ///< why there is no ratio; a sentence
  double neighbour_correlation = 0;  ///< of the log ratios of neighbouring rounds

  double margin = 0;  ///< what judge() held it against
  Verdict verdict = Verdict::kNotCompared;
  std::optional<double>
      p_value;  ///< one-sided, of the claim that the interval makes; adjusted for the others
  std::vector<TailVerdict> tails;  ///< judge_tails()
  std::size_t more_pairs = 0;      ///< about how many more would bring the interval to +-1 %
};

/// Everything but the verdict and what it is made from (kNoSamples, kFailed and kNotCompared are set).
/// The value of each side is the median of its samples, the ratio that of ComparedRatio. Doubts are raised
/// where the two were measured apart and nothing tells how far runs lie apart, or a record tells of trouble
/// (troubles_of).
Comparison compare_records(const Record& baseline, const Record& test, const RunKnowledge& known = {});

/// Whether the two were measured apart and nothing tells how far runs lie apart.
bool lacks_run_spread(const Comparison& comparison);

/// The ratio turned so that more than 1 is worse.
RatioEstimate worsening(const RatioEstimate& ratio, Direction direction);

/// Geometric mean of ratios, turned so that more than 1 is worse.
struct MeanWorsening {
  double mean = 1;
  std::size_t cases = 0;  ///< that have a ratio
  /// Nothing where a case has none, or how far runs lie apart is not known. Cases of one session were
  /// measured one after the other: their errors are independent, and add up as such. Of runs measured apart
  /// what moved one case may have moved all, so that the half-widths are averaged.
  std::optional<Interval> interval{};
};

/// Over the comparisons of one test that have a ratio. Nothing where none has.
std::optional<MeanWorsening> mean_worsening(std::span<const Comparison> comparisons,
                                            std::size_t test_index = 0);

}  // namespace headroom
