// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "headroom/compare/comparison.h"
#include "headroom/stats/round_ratio.h"

namespace headroom {

/// What `headroom ab` says of a command against the first of its group.
struct RoundComparison {
  Comparison comparison;
  Look look = Look::kLast;  ///< how sampling ended
};

/// Gives each comparison of commands that were run in rounds its ratio and interval (RoundRatio), its margin
/// and its verdict; those judged together are one suite. Comparisons that are not of one session keep what
/// they have.
///
/// The same where the interval lies within the margin; a regression (an improvement) where it lies beyond it.
/// Where it lies beyond 1 but reaches into the margin the commands are told apart, and only whether by more
/// than the margin is open: the verdict is inconclusive and has a p-value (see told_apart). Claims that do
/// not survive the correction of Benjamini and Hochberg, at the level of their look, are not made. Where even
/// rounds that all agree could not reach that level, there were too few: kUnderpowered.
void judge_rounds(std::span<RoundComparison> suite, double margin);

/// Whether the two differ, in whichever direction the ratio tells.
bool told_apart(const Comparison& comparison);

/// Fewest rounds in which any of so many comparisons can be told, whatever the others say.
std::size_t fewest_rounds(std::size_t comparisons);

}  // namespace headroom
