// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "headroom/stats/betting.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/paired_ranks.h"

namespace headroom {

/// When two commands that are run in rounds are looked at.
enum class Look {
  kRunning,  ///< at any moment, as often as wanted, and to end sampling because of what is seen
  kLast      ///< once, when sampling has ended for a reason that is not in the ratio: precision, time, number
};

/// What of the 5 % of errors, per side, each kind of look may make. Together they are 2.5 %.
constexpr double kRunningTail = 0.0025;
constexpr double kLastTail = 0.0225;

/// The ratio test / baseline of commands that were run in rounds, each round in an order that a coin chose.
///
/// The last look is a rank sum test against the coins (PairedRanks), all looks before it together are one
/// e-process (Bets): to look often costs nothing but the tenth of the errors that these may make. Both ask
/// nothing of the noise but that the order within a round is random. Where the log ratios of neighbouring
/// rounds resemble each other by more than two standard errors, which coins do not explain, both are widened
/// to (1 + rho)/(1 - rho) times the variance.
///
/// SIM (bench_ab_decides 2000; standard error .5 %). Nothing differs, a look after each round: false claims
/// in at most 5.2 % of sessions of 6 to 120 rounds, for normal noise of 1 and 3 %, two modes, 5 % spikes of
/// twice the time, exponential noise, and moments of the session correlated by .5 and .9. Found of 3 % more,
/// at 3 % of noise (Mann and Whitney in brackets): 10 rounds 42 (51), 20 rounds 76 (82), 30 rounds 92 (95),
/// 60 rounds 100 (100) %; where the moments are correlated by .5: 68 (60), 96 (91), 99 (99), 100 (100) %.
/// Where it falls short: noise that stays with a command over its runs, which no random order can mend.
/// Correlated by .5: 10 to 17 % of false claims (Mann and Whitney 21 to 26), by .9: 25 % with 60 rounds, 57 %
/// with 6 (64 to 67).
class RoundRatio {
 public:
  /// As many of each, in the order measured. Nothing where there are none, or one is not above 0.
  static std::optional<RoundRatio> of(std::span<const double> test, std::span<const double> baseline,
                                      Look look);

  /// Ratio of the pseudo-medians, and its interval; nothing where there are too few rounds for that.
  RatioEstimate estimate() const;
  /// One-sided p-value of the claim that the ratio is above (below) `ratio`.
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
