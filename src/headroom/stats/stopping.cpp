// SPDX-License-Identifier: Apache-2.0
#include "headroom/stats/stopping.h"

namespace headroom {
namespace {

/// Chosen by simulation, see Stopping.
constexpr double kConfirmation = 1.25;

}  // namespace

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
  // Without its half-width the state can still have reached a cap.
  StopState unconfirmed = state;
  unconfirmed.relative_half_width.reset();
  // At a cap the goal is met, if not confirmed: that is still why no more is wanted.
  return should_stop(rule_, unconfirmed) ? reason : std::nullopt;
}

}  // namespace headroom
