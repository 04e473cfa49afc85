// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/settled_cases.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace headroom {
namespace {

std::size_t readings_since(const Track& track, std::uint32_t first_round) {
  return static_cast<std::size_t>(track.readings.end() -
                                  std::ranges::lower_bound(track.readings, first_round, {}, &Reading::round));
}

}  // namespace

void SettledCases::look(std::span<const Track> cases, std::span<const double> half_widths, double elapsed_ns,
                        std::uint32_t first_round) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    StopState state{readings_since(cases[i], first_round), elapsed_ns, half_widths[i]};
    if (!std::isfinite(half_widths[i])) state.relative_half_width.reset();
    settled_[i] = stopping_[i].check(state) == StopReason::kPrecision;
  }
  spared_ = settled_;
  const auto first = std::ranges::find_if(cases, &Track::alive);
  if (first != cases.end()) spared_[static_cast<std::size_t>(first - cases.begin())] = false;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (!settled_[i]) spared_.at(cases[i].planned.baseline) = false;
  }
}

std::size_t fewest_readings(std::span<const Track> cases, std::uint32_t first_round) {
  std::optional<std::size_t> fewest;
  for (const Track& track : cases) {
    if (!track.alive()) continue;
    const std::size_t readings = readings_since(track, first_round);
    fewest = std::min(fewest.value_or(readings), readings);
  }
  return fewest.value_or(0);
}

}  // namespace headroom
