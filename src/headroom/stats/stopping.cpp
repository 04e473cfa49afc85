// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/stopping.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr std::size_t kMinTrendLength = 8;
/// Standard deviation of normal noise over the distance from median to upper decile.
constexpr double kDeviationPerUpperDecile = 0.7803;
/// Share of the level: a coarse clock may show no spread.
constexpr double kMinSpread = 1e-3;
/// In spreads around the level.
constexpr double kSettled = 1.5;

/// All of the first `values` must lie `spreads` above the level; a single one may be a spike.
struct Lead {
  std::size_t values;
  double spreads;
};
constexpr std::array<Lead, 4> kLeads = {{{2, 4.5}, {3, 3.5}, {4, 3}, {6, 2.5}}};

/// Chosen by simulation, see Stopping.
constexpr double kConfirmation = 1.25;

}  // namespace

std::size_t warmup_length(std::span<const double> values) {
  if (values.size() < kMinTrendLength) return 0;
  const std::size_t half = values.size() / 2;
  const std::span<const double> settled = values.subspan(half);
  const double level = median(settled);
  // Few values give an uncertain spread, and autocorrelated ones too small a spread.
  const double caution = 1 + 8 / static_cast<double>(settled.size());
  const double noise = std::max(kDeviationPerMad * median_absolute_deviation(settled),
                                kDeviationPerUpperDecile * (quantile(settled, 0.9) - level));
  const double spread = std::max(kMinSpread * std::abs(level), caution * noise);
  const auto leading_above = [&](double spreads) {
    const auto first = std::find_if(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(half),
                                    [&](double value) { return value <= level + spreads * spread; });
    return static_cast<std::size_t>(first - values.begin());
  };
  const bool falls = std::any_of(kLeads.begin(), kLeads.end(), [&](const Lead& lead) {
    return leading_above(lead.spreads) >= lead.values;
  });
  return falls ? leading_above(kSettled) : 0;
}

std::size_t samples_needed(std::size_t current_samples, double current_half_width, double goal) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  if (current_half_width <= goal) return 0;
  if (!std::isfinite(current_half_width) || !(goal > 0)) return kMax;
  const double ratio = current_half_width / goal;
  const double more = std::ceil(static_cast<double>(current_samples) * (ratio * ratio - 1));
  return more < static_cast<double>(kMax) ? static_cast<std::size_t>(more) : kMax;
}

std::optional<StopReason> should_stop(const StopRule& rule, const StopState& state) {
  const bool enough = state.samples >= rule.min_samples && state.elapsed_ns >= rule.min_time_ns;
  const bool precise = state.relative_half_width && *state.relative_half_width <= rule.precision;
  if (enough && precise) return StopReason::kPrecision;
  if (state.samples >= rule.max_samples) return StopReason::kMaxSamples;
  if (state.elapsed_ns >= rule.max_time_ns) return StopReason::kMaxTime;
  return std::nullopt;
}

std::optional<StopReason> Stopping::check(const StopState& state) {
  const auto reason = should_stop(rule_, state);
  if (reason != StopReason::kPrecision) {
    if (state.relative_half_width) precise_since_.reset();
    return reason;
  }
  if (!precise_since_) precise_since_ = state.samples;
  const double confirmed = kConfirmation * static_cast<double>(*precise_since_);
  if (static_cast<double>(state.samples) >= confirmed) return reason;
  // A limit may be reached without a half-width.
  StopState unconfirmed = state;
  unconfirmed.relative_half_width.reset();
  // At a limit, a met but unconfirmed goal is still the reason.
  return should_stop(rule_, unconfirmed) ? reason : std::nullopt;
}

}  // namespace headroom
