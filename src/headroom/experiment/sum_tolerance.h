// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>

#include "headroom/base/precision.h"

namespace headroom {

/// Allowed distance of a result from the reference: |actual - expected| <= absolute + relative *
/// max(|expected|, rms), rms over all expected values (rounding errors of a sum of products have the size of
/// its terms, not of its value).
struct Tolerance {
  double relative = 1e-5;
  double absolute = 0;
  /// Bound of the root mean square error, as a share of rms.
  double root_mean_square = std::numeric_limits<double>::infinity();
  /// Accumulation dtype of the bounds; empty if another run is the reference.
  std::optional<Precision> sums_in = Precision::kF32;
};

/// Over the finite values; 0 if there are none.
double root_mean_square(std::span<const double> values);

/// |actual - expected| over max(|expected|, rms); infinite if only one is NaN, or infinities differ.
double scaled_error(double actual, double expected, double rms);

/// Largest relative error of rounding to nearest: 2^-8 for bf16, 2^-11, 2^-24, 2^-53.
double unit_roundoff(Precision precision);

/// Returns the tolerance of `results` values that are sums in `precision`. `terms`: lengths of consecutive
/// sums (two linear layers have two). `exact`: tolerance of sums in f32, returned unchanged for f32 and f64.
///
/// Below f32, with u the unit roundoff and n terms of mean zero (as from fill_random), a value may be off by
/// exact + 2 u sqrt(n), and all values by a root mean square of exact + u sqrt(n / 6) (1 + 5 /
/// sqrt(results)), in units of scaled_error.
///
/// Source: N. J. Higham and T. Mary, A New Approach to Probabilistic Rounding Error Analysis, SIAM J. Sci.
/// Comput. 41(5), 2019, A2815: independent rounding errors of mean zero give gamma~_n(lambda) = exp(lambda
/// sqrt(n) u + n u^2 / (1 - u)) - 1, times the sum of the magnitudes of the terms. That would pass anything
/// for terms of mean zero (2.9 for 1024 terms in bf16), whose partial sums s_k stay as small as the result:
/// the same authors, Sharper Probabilistic Backward Error Analysis for Basic Linear Algebra Kernels with
/// Random Data, SIAM J. Sci. Comput. 42(5), 2020, A3427. In units of scaled_error, the error is the sum of
/// d_k s_k, |d_k| <= u. A uniform d_k has a variance of at most u^2 / 3, and the s_k^2 add up to n^2 / 2
/// variances of a term, which limits the standard deviation to u sqrt(n / 6). Lambda, the 2 before u sqrt(n),
/// is 4.9 of these: one of a million values exceeds it. In a simulation of 4096 sums of 4096 terms the
/// largest error was 1.7 u sqrt(n).
///
/// A single wrong value among sums of more than some thousand terms in bf16 can hide in the first bound; the
/// second catches many.
Tolerance tolerance_of_sums(Tolerance exact, Precision precision, std::initializer_list<std::size_t> terms,
                            std::size_t results);

}  // namespace headroom
