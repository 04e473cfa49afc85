// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

namespace headroom {

/// Of the finite values; 0 where there is none.
double root_mean_square(std::span<const double> values);

/// |actual - expected| over max(|expected|, rms), rms being that of all expected values; infinite where only
/// one of them is NaN, or infinities differ.
double scaled_error(double actual, double expected, double rms);

}  // namespace headroom
