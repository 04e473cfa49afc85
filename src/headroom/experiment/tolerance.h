// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <optional>

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

}  // namespace headroom
