// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

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

/// How the ratio was estimated.
enum class Estimator {
  kNone,     ///< one number each, or nothing
  kPaired,   ///< the two were measured in the same rounds of one session
  kUnpaired  ///< measured apart: assumes that the machine did not change in between
};

const char* to_string(Estimator estimator);

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
  std::size_t samples = 0;           ///< pairs, or the samples of the side that has fewer
  std::string problem;               ///< why there is no ratio; a sentence
  double neighbour_correlation = 0;  ///< of the log ratios of neighbouring rounds

  double margin = 0;  ///< what judge() held it against
  Verdict verdict = Verdict::kNotCompared;
  std::optional<double>
      p_value;                 ///< one-sided, of the claim that the interval makes; adjusted for the others
  std::size_t more_pairs = 0;  ///< about how many more would bring the interval to +-1 %
};

/// Everything but the verdict and what it is made from (kNoSamples, kFailed and kNotCompared are set).
/// The value of each side is the median of its samples, the ratio that of paired_ratio() where both records
/// are of one session, of unpaired_series_ratio() otherwise.
Comparison compare_records(const Record& baseline, const Record& test);

/// What the ratio was estimated from. Only for comparisons with an estimator.
RatioSeries ratio_series(const Comparison& comparison);

/// The ratio turned so that more than 1 is worse.
RatioEstimate worsening(const RatioEstimate& ratio, Direction direction);

/// Geometric mean of ratios, turned so that more than 1 is worse.
struct MeanWorsening {
  double mean = 1;
  std::size_t cases = 0;  ///< that have a ratio
};

/// Over the comparisons of one test that have a ratio. Nothing where none has.
std::optional<MeanWorsening> mean_worsening(std::span<const Comparison> comparisons,
                                            std::size_t test_index = 0);

}  // namespace headroom
