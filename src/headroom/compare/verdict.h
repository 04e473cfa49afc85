// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "headroom/compare/comparison.h"
#include "headroom/compare/margins.h"

namespace headroom {

/// How claims are corrected for the number of cases looked at.
enum class Multiplicity {
  kHolm,              ///< for a gate: the chance that any claim is false
  kBenjaminiHochberg  ///< for a report: the share of false ones among the claims
};

struct JudgeRule {
  Margins margins;
  Multiplicity multiplicity = Multiplicity::kBenjaminiHochberg;
  double alpha = 0.05;
};

/// Gives each comparison its margin, verdict and p-value. Those judged together are one suite.
///
/// A regression is claimed where the whole 95 % interval of the ratio, turned so that more than 1 is worse,
/// lies above 1 + margin; an improvement where it lies below 1 - margin; the same where it lies within. A
/// claim has a one-sided p-value, found by inverting the interval: p is the smallest for which the interval
/// at confidence 1 - 2p still lies beyond the margin. So the p-value knows of everything the interval knows
/// of: pairs, autocorrelation, processes. It is also widened to the correlation of neighbouring rounds that
/// the suite as a whole shows: so far out in the tails (.001 for 50 cases) one short series knows too little
/// of its own, and all of them together cost nothing where there is none. Claims that do not survive the
/// correction, over all comparisons of the suite that have samples and for each of the two directions, are
/// inconclusive. Cases in which no n samples of this number could reach alpha over the number of cases (2^-n
/// is the smallest p of a sign test) are underpowered, never the same.
///
/// Where the samples of two that were measured apart fall into groups (Comparison::modes), what the change of
/// their shares makes of the mean is held against the margin as the ratio is, and either makes a claim (its
/// p-value is doubled: two intervals could have made it). Where the two lie on different sides of 1, only
/// both taken together make one, and only where the ratio is one mode by mode. The same needs both within the
/// margin; where groups cannot be matched or their shares tell nothing, nothing is the same. Where a
/// comparison has doubts, nothing is claimed.
///
/// SIM (bench_gate_false_alarms, 2,000 suites of 50 cases, 1 % noise, Holm): suites with a false regression
/// at a margin of 0: 2.5 % with 30 pairs, 4.3 % with 100, 1.9 % with spikes, 4.7 % with 8 processes that
/// differ, 0.5 % unpaired; where neighbours are correlated by .3 and .5: 1.6 and 1.3 % with 30 pairs, 3.0 and
/// 3.5 % with 60 (6.9 and 9.5 % by what each case knows itself). One case 3 % slower, 30 pairs: found in 99 %
/// of suites with a margin of 0, in 97 % with one of 0.5 %, in 93 % with one of 1 % (99 % with 40 pairs).
void judge(std::span<Comparison> comparisons, const JudgeRule& rule);

}  // namespace headroom
