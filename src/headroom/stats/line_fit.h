// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

namespace headroom {

/// y = intercept + slope * x.
struct LineFit {
  double intercept = 0, slope = 0;
  double worst_error = 0;  ///< the largest |line - y| / y
};

/// The line of least squares of the relative errors (line - y) / y: for a cost by size over several orders of
/// magnitude, of which plain least squares would see the largest only. All y above 0, as many as x. Nothing
/// with fewer than two different x.
std::optional<LineFit> fit_line(std::span<const double> x, std::span<const double> y);

}  // namespace headroom
