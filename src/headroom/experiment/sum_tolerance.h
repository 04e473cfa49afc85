// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>

#include "headroom/base/precision.h"

namespace headroom {

/// How far a result may be from the reference: |actual - expected| <= absolute + relative * max(|expected|,
/// rms), rms over all expected values (a sum of products has rounding errors of the size of its terms, not of
/// its value).
struct Tolerance {
  double relative = 1e-5;
  double absolute = 0;
  /// What the root mean square of all errors may be, as a share of rms.
  double root_mean_square = std::numeric_limits<double>::infinity();
  /// The precision that the implementation adds in, which the others are for (sum_tolerance.h). Empty where
  /// nobody knows: the answer is held against another run's.
  std::optional<Precision> sums_in = Precision::kF32;
};

/// Of the finite values; 0 where there is none.
double root_mean_square(std::span<const double> values);

/// |actual - expected| over max(|expected|, rms), rms being that of all expected values; infinite where only
/// one of them is NaN, or infinities differ.
double scaled_error(double actual, double expected, double rms);

/// The largest relative error of rounding to the nearest: 2^-8 of bf16, 2^-11, 2^-24, 2^-53.
double unit_roundoff(Precision precision);

/// What `results` values may be off that are sums added in `precision`, one behind the other where there are
/// several numbers of `terms` (two linear layers). `exact` is what they may be off where they are added in
/// f32, and is what comes back for f32 and f64: no answer is allowed more because of this.
///
/// Below f32, with u the unit roundoff and n terms of mean zero (as fill_random's are), a value may be off by
/// exact + 2 u sqrt(n), all values together by a root mean square of exact + u sqrt(n / 6) (1 + 5 /
/// sqrt(results)), in units of scaled_error: of the root mean square of the exact values.
///
/// Source: N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci.
/// Comput. 41(5), 2019, A2815: rounding errors as independent variables of mean zero give gamma~_n(lambda) =
/// exp(lambda sqrt(n) u + n u^2 / (1 - u)) - 1, times the sum of the magnitudes of the terms. That sum is
/// sqrt(n) times the size of the result where terms have mean zero, and the bound would pass anything (2.9
/// for 1024 terms in bf16). For such terms the partial sums s_k stay as small as the result: the same
/// authors, Sharper Probabilistic Backward Error Analysis for Basic Linear Algebra Kernels with Random Data,
/// SIAM J. Sci. Comput. 42(5), 2020, A3427. Their argument with the scale of scaled_error: the error is the
/// sum of d_k s_k, |d_k| <= u; a d_k that is spread evenly has a variance of at most u^2 / 3, and the s_k^2
/// add up to n^2 / 2 variances of a term, so that the error has a standard deviation of at most u sqrt(n / 6)
/// of the result's. Lambda, the 2 before u sqrt(n), is 4.9 of these: of a million values one is expected to
/// be further off. (Lambda = 1, of which the first paper says that it does in practice, is 2.4 of them, and
/// every fiftieth would be.) In a simulation of 4096 sums of 4096 terms the largest was 1.7 u sqrt(n).
///
/// A single wrong value among sums of more than some thousand terms in bf16 can hide in that; many cannot,
/// which the second bound is for. Where fewer terms are added in a row (several accumulators), errors are
/// smaller, and both hold all the more.
Tolerance tolerance_of_sums(Tolerance exact, Precision precision, std::initializer_list<std::size_t> terms,
                            std::size_t results);

}  // namespace headroom
