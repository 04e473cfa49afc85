// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/compare/comparison.h"

namespace headroom {

/// What is to be said of the groups that the samples fall into, in one line; empty where they are one group:
///
///     modes: 10.0 µs, now 10.3 µs (1.030), in 80, now 40 % of the samples; 13.0 µs, now 13.4 µs (1.031), in
///     20, now 60 %; their shares alone make the mean 1.113 (1.080 to 1.148) modes: the baseline is one
///     group, the test 10.0 µs in 70 % of the samples, 13.0 µs in 30 %: never the same, and compared by all
///     samples
///
/// Of what is inconclusive also what is missing.
std::string mode_comparison_text(const Comparison& comparison);

}  // namespace headroom
