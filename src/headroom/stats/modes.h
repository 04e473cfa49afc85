// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace headroom {

/// Hartigan and Hartigan's dip.
struct Dip {
  double statistic = 0;  ///< largest difference to the nearest unimodal distribution: 1/(2n) to 1/4
  /// Indices of the last value of a mode and the first of the next; both 0 if perfectly unimodal.
  std::size_t valley_low = 0, valley_high = 0;
};

/// `sorted`: ascending, finite, at least one value; std::invalid_argument otherwise. Source: J. A. Hartigan
/// and P. M. Hartigan, The Dip Test of Unimodality, Annals of Statistics 13 (1985); steps of P. M. Hartigan,
/// Algorithm AS 217 (1985), with the greatest convex minorant under the lower corners and the least concave
/// majorant over the upper corners of the distribution function.
Dip dip_of(std::span<const double> sorted);

/// Returns the dip exceeded by 0.5 % of samples of `count` uniform values, and far more seldom by other
/// unimodal ones; 1/4, which no dip exceeds, for fewer than 8 values.
double dip_critical(std::size_t count);

struct Mode {
  double median = 0;
  double share = 0;

  bool operator==(const Mode&) const = default;
};

struct Modes {
  std::vector<Mode> groups;   ///< ascending; empty for a single group
  std::size_t changes = 0;    ///< switches between groups
  bool in_stretches = false;  ///< fewer switches than by chance: the level changed over time

  bool operator==(const Modes&) const = default;
};

/// Returns the groups of `values` (positive, in order of measurement) if there are several: a program that
/// takes 10 ms or 14 ms has no typical time in between. A group has at least a tenth of the values and at
/// least three; smaller ones are outliers and join the nearest. Medians of neighbouring groups differ by at
/// least 1 %. No groups for fewer than 8 values. Throws std::invalid_argument for non-finite values.
///
/// Method: the dip test at the 0.5 % level of uniform values; the cut is in the middle of the gap behind the
/// dip; both sides are tested again. Equal clock readings are first spread over the smallest step between
/// readings. `in_stretches`: fewer than half the switches of a random order, and fewer by three standard
/// deviations (Wald and Wolfowitz 1940; for several groups Mood 1940).
///
/// SIM (bench/modes.cpp), 10,000 series each, n = 10 to 1,000. One group reported as several: normal,
/// lognormal (sigma .3 and 1), exponential, Pareto, 5 % spikes of three times the time, coarse clocks: at
/// most 0.22 %; uniform 0.64 %; AR(1) with rho = .5 at most 0.05 %, with .9 0.38 %. Two groups found as two,
/// with shares within .1 of the true ones, with 2 % spikes added: half and half, 6 standard deviations
/// between them: n = 20: 27 %, 50: 80 %, 100: 96 %; 30 % in one, 10 between them: n = 50: 60 %, 100: 94 %; 15
/// % in one, 10 between them: n = 100: 10 %, 300: 87 %.
Modes find_modes(std::span<const double> values);

/// Returns the bounds between the groups of find_modes, ascending; empty for a single group.
std::vector<double> mode_bounds(std::span<const double> values);
/// Group of a value; 0 is the lowest.
std::size_t mode_of(double value, std::span<const double> bounds);
/// As find_modes, with given bounds. Throws std::invalid_argument for an empty group. With `group_sizes`
/// (values per process) switches are counted within processes.
Modes modes_between(std::span<const double> values, std::span<const double> bounds,
                    std::span<const std::size_t> group_sizes = {});

/// Calls `make` for each copy of the values, so that only one is in memory.
std::vector<double> mode_bounds_of(const std::function<std::vector<double>()>& make);

}  // namespace headroom
