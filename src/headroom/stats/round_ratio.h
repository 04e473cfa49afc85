// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "headroom/stats/compare.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// Sequential test of the centre of symmetrically distributed values, valid at any number of looks (an
/// e-process).
///
/// Against a centre of at most theta, one bets a share of the stake on each value being above it. The stake
/// grows by 2 / (1 + exp(-2 b x)), where x is the distance from theta in scales of the earlier values,
/// clipped to 3, and b is the boldness. The mean of that factor over x and -x is 1, so the stake is a
/// martingale for values symmetric around theta, and falls for lower ones. It reaches 1/p with a probability
/// of at most p, whenever one looks or stops (Ville 1939). No variance or distribution is assumed, nor
/// independence if the random order of a round gives each value its sign. The stake is divided among
/// boldnesses of .05 to .8. The scale is learned from 5 earlier values, and again when their number has grown
/// by half.
class Bets {
 public:
  /// `values` in order of measurement. `inflation` (at least 1): variance of a sum of such values relative to
  /// independent ones. Throws std::invalid_argument for non-finite values and inflation below 1.
  explicit Bets(std::span<const double> values, double inflation = 1);

  /// One-sided p-value for the centre above (below) `theta`: 1 / stake, at most 1.
  double p_above(double theta) const;
  double p_below(double theta) const;
  /// Returns the values that neither claim rejects at the level `tail`; nullopt if one side rejects none.
  /// Coverage over all looks together: 1 - 2 tail.
  std::optional<Interval> interval(double tail) const;

 private:
  struct Bet {
    double value;
    double scale;  ///< 0: not known yet
  };
  std::vector<Bet> bets_;
  double inflation_;

  double p_value(double theta, double sign) const;
};

/// Rank test of the difference of two sides measured in rounds.
///
/// All values are ranked together, b less theta; T is the sum of the rounds' rank differences. If b lies
/// theta above a and nothing else differs, each round's difference is equally likely with the other sign,
/// however correlated: T is one of 2^n equally likely sums (Fisher's randomization), counted up to 25 rounds;
/// beyond, T is normal. As strong as Mann-Whitney's test for independent values, stronger for correlated
/// ones.
///
/// `inflation` (at least 1) multiplies the variance of T, for autocorrelated differences.
class PairedRanks {
 public:
  /// Throws std::invalid_argument unless both sides have equal length, are not empty, and are finite.
  PairedRanks(std::span<const double> a, std::span<const double> b, double inflation = 1);

  /// Median of all differences b - a (Hodges and Lehmann 1963), where T is 0.
  double middle() const;
  /// One-sided p-value for b more (less) than theta above a.
  double p_above(double theta) const;
  double p_below(double theta) const;
  /// Returns the differences that neither claim rejects at the level `tail`; nullopt if 2^-n > tail.
  std::optional<Interval> interval(double tail) const;

 private:
  std::vector<double> a_, b_;
  std::vector<std::size_t> order_a_, order_b_;  ///< indices of the values in ascending order
  double inflation_;
  double lowest_ = 0, highest_ = 0;  ///< of all differences

  std::vector<double> rank_differences(double theta) const;
  double statistic(double theta) const;
  double p_value(double theta, double sign) const;
};

/// Fewest rounds that can reach the level `tail`: 2^-n <= tail.
std::size_t fewest_pairs(double tail);

enum class Look {
  kRunning,  ///< at any time and as often as wanted; may end sampling
  kLast      ///< once, after sampling ended for another reason: precision, time, number
};

/// Error probability per side; 2.5 % together.
constexpr double kRunningTail = 0.0025;
constexpr double kLastTail = 0.0225;

/// Ratio test / baseline of commands run in rounds, each in random order.
///
/// The last look is a rank sum test (PairedRanks); all earlier looks together are one e-process (Bets), so
/// that frequent looks cost only a tenth of the error probability. Both assume only that the order within a
/// round is random. If the log ratios of neighbouring rounds correlate by more than two standard errors,
/// which a random order does not explain, both use (1 + rho)/(1 - rho) times the variance.
///
/// SIM (bench_ab_decides 2000; standard error .5 %). No difference, a look after each round: false claims in
/// at most 5.2 % of sessions of 6 to 120 rounds, for normal noise of 1 and 3 %, two modes, 5 % spikes of
/// twice the time, exponential noise, and session conditions correlated by .5 and .9. Detected 3 % slow-downs
/// at 3 % noise (Mann-Whitney in brackets): 10 rounds 42 (51), 20 rounds 76 (82), 30 rounds 92 (95), 60
/// rounds 100 (100) %; with conditions correlated by .5: 68 (60), 96 (91), 99 (99), 100 (100) %. Limit: noise
/// that stays with a command across its runs. Correlated by .5: 10 to 17 % false claims (Mann-Whitney 21 to
/// 26); by .9: 25 % with 60 rounds, 57 % with 6 (64 to 67).
class RoundRatio {
 public:
  /// Both sides of equal length, in order of measurement. Nullopt if empty or if a value is not above 0.
  static std::optional<RoundRatio> of(std::span<const double> test, std::span<const double> baseline,
                                      Look look);

  /// Of the pseudo-medians; no interval for too few rounds.
  RatioEstimate estimate() const;
  /// One-sided p-value for a ratio above (below) `ratio`.
  double p_above(double ratio) const;
  double p_below(double ratio) const;
  std::size_t pairs() const { return pairs_; }
  double tail() const { return std::holds_alternative<Bets>(test_) ? kRunningTail : kLastTail; }

 private:
  std::variant<Bets, PairedRanks> test_;
  std::size_t pairs_;
  double middle_;  ///< of the logarithms

  RoundRatio(std::variant<Bets, PairedRanks> test, std::size_t pairs, double middle)
      : test_(std::move(test)), pairs_(pairs), middle_(middle) {}
};

}  // namespace headroom
