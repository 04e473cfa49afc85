// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

namespace headroom {

/// p-values adjusted for having looked at all of them, in the order given: reject where the adjusted one is
/// at most alpha. Throws std::invalid_argument where a value is outside [0, 1].
///
/// Holm (1979), step down: the chance of any false rejection stays at alpha, however the tests depend on each
/// other. For gates.
std::vector<double> holm_adjusted(std::span<const double> p_values);

/// Benjamini and Hochberg (1995), step up: the expected share of false ones among the rejected stays at alpha
/// for independent (or positively dependent) tests. For reports.
std::vector<double> benjamini_hochberg_adjusted(std::span<const double> p_values);

}  // namespace headroom
