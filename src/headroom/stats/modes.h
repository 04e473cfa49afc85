// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace headroom {

/// One of the groups that a series falls into.
struct Mode {
  double median = 0;
  double share = 0;  ///< of all values

  bool operator==(const Mode&) const = default;
};

struct Modes {
  std::vector<Mode> groups;   ///< ascending; empty where the values are one group
  std::size_t changes = 0;    ///< how often the series goes from one group to another
  bool in_stretches = false;  ///< so seldom that chance does not explain it: the level changed meanwhile

  bool operator==(const Modes&) const = default;
};

/// The groups that `values` (positive, in the order measured) fall into, if they are several: a program that
/// takes 10 ms or 14 ms has no typical time between. A group has at least a tenth of the values, and three;
/// what is less are outliers, and they go with the nearest group. Medians of neighbours lie at least 1 %
/// apart. Fewer than 8 values tell nothing. std::invalid_argument where a value is not finite.
///
/// Method: the dip test (dip.h), at the level of 0.5 % for uniform values; the cut is in the middle of the
/// gap that makes the dip; both sides are tested again. Equal readings of a clock are first spread over its
/// grain, the smallest step between readings. `in_stretches`: the changes are less than half of those
/// of a random order, and fewer by three standard deviations (Wald and Wolfowitz 1940; for several groups
/// Mood 1940).
///
/// SIM (bench/modes.cpp), 10,000 series each, n = 10 to 1,000. One group taken for several: normal, lognormal
/// (sigma .3 and 1), exponential, Pareto, with 5 % spikes of three times the time, coarse clocks: at most
/// 0.22 %; uniform 0.64 %; AR(1) with rho = .5 at most 0.05 %, with .9 0.38 %. Two groups found as two, with
/// shares within .1 of those planted, beside 2 % spikes: half and half, 6 standard deviations apart: n = 20:
/// 27 %, 50: 80 %, 100: 96 %; 30 % in one, 10 apart: n = 50: 60 %, 100: 94 %; 15 % in one, 10 apart: n = 100:
/// 10 %, 300: 87 %.
Modes find_modes(std::span<const double> values);

/// What lies between the groups of find_modes, ascending: one value less than there are groups; empty where
/// the values are one group.
std::vector<double> mode_bounds(std::span<const double> values);
/// Which of the groups between `bounds` a value belongs to: 0 is the lowest.
std::size_t mode_of(double value, std::span<const double> bounds);
/// The groups between these bounds, none of which may be empty (std::invalid_argument); find_modes with its
/// own bounds. With `group_sizes` (values that each process gave) changes are those within processes, and so
/// is the chance that they are held against.
Modes modes_between(std::span<const double> values, std::span<const double> bounds,
                    std::span<const std::size_t> group_sizes = {});

}  // namespace headroom
