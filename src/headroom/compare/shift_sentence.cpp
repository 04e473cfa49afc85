// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/shift_sentence.h"

#include <fmt/format.h>

#include <optional>

#include "headroom/base/units.h"
#include "headroom/compare/unit_conversion.h"

namespace headroom {
namespace {

struct Words {
  const char *worst, *worse, *better;
};

/// A time, or a rate: what has them is fast or slow.
bool is_speed(const Comparison& comparison) {
  return unit_factor(comparison.unit, "s").has_value() || comparison.unit.ends_with("/s");
}

/// How far apart, as people say it: "3.20x slower (2.90 to 3.60)", "5.00 % slower (4.00 to 6.00 %)". `by` is
/// above 1.
std::string distance_text(double by, const Interval& interval, const char* word) {
  constexpr double kFewTimes = 1.5;
  if (by >= kFewTimes) {
    return fmt::format("{}x {} ({} to {})", format_number(by), word, format_number(interval.low),
                       format_number(interval.high));
  }
  return fmt::format("{} {} ({} to {})", format_percent(by - 1), word,
                     format_number(100 * (interval.low - 1)), format_percent(interval.high - 1));
}

std::string part_text(const Comparison& comparison, const DecileShift& shift, const Words& words) {
  if (shift.verdict == Verdict::kSame) return "the same";
  if (shift.verdict == Verdict::kUnderpowered) return "unknown (too few samples)";
  const RatioEstimate worse =
      worsening({shift.decile.ratio, shift.decile.ratio_interval, 0}, comparison.baseline->metric.direction);
  if (shift.verdict == Verdict::kRegression) return distance_text(worse.ratio, *worse.interval, words.worse);
  if (shift.verdict == Verdict::kInconclusive) return "undecided";
  // Turned, so that it tells how much better it is.
  const RatioEstimate better = worsening(worse, Direction::kHigherIsBetter);
  return distance_text(better.ratio, *better.interval, words.better);
}

}  // namespace

std::string shift_sentence(const Comparison& comparison, const std::vector<DecileShift>& shifts) {
  const Words words =
      is_speed(comparison) ? Words{"slowest", "slower", "faster"} : Words{"worst", "worse", "better"};
  const bool lower_is_better = comparison.baseline->metric.direction == Direction::kLowerIsBetter;
  const DecileShift& worst = lower_is_better ? shifts.back() : shifts.front();
  return fmt::format("the {} tenth is {}, the median {}", words.worst, part_text(comparison, worst, words),
                     part_text(comparison, shifts[shifts.size() / 2], words));
}

}  // namespace headroom
