// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/experiment/case_spec.h"
#include "headroom/experiment/state.h"
#include "headroom/experiment/work_counts.h"

namespace headroom {

/// Above what anything here counts, and far enough below what a double holds that sums, squares and ratios of
/// such numbers are numbers.
inline constexpr double kMostOfAnything = 1e100;
/// 31 years.
inline constexpr double kMostNanoseconds = 1e18;

/// What no case can honestly say of itself, as the end of a sentence that begins with who says it: "says a
/// work of -1 FLOPs". Empty: nothing. The same on both sides of the protocol, so that a program that errs
/// hears it where it runs, and one that lies is not believed.
std::string unsound(const CaseInfo& info);
/// The same of what a sample says of itself: "measured a time of nan ns".
std::string unsound(const Sample& sample);
/// The same of what counters say: "counted nan instructions".
std::string unsound(const WorkCounts& counts);

}  // namespace headroom
