// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/beaten_limits.h"

#include <optional>

#include "headroom/schedule/limit_rates.h"
#include "headroom/schedule/series.h"
#include "headroom/stats/compare.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

constexpr double kClearly = 1.03;
constexpr double kConfidence = 0.99;

bool can_be_beaten(const LimitTrack& limit) {
  return limit.track.is_sampled() && limit.resource != Resource::kPingPong && !limit.track.readings.empty();
}

bool compete(const LimitTrack& a, const LimitTrack& b) {
  return a.resource == b.resource && a.track.planned.device == b.track.planned.device && a.ranks == b.ranks;
}

/// Seconds for what the limit does in a byte or a FLOP.
Series costs(const LimitTrack& limit) {
  Series series = steady_series(limit.track.readings);
  for (double& value : series.values) value = 1 / limit_rate(limit, value);
  return series;
}

bool is_clearly_slower(const Series& series, const Series& best) {
  const SeriesPairs pairs = pairs_of(series, best);
  if (pairs.a.empty()) return false;
  const RatioEstimate ratio = RatioSeries::paired(pairs.a, pairs.b, pairs.group_sizes).at(kConfidence);
  return ratio.interval && ratio.interval->low > kClearly;
}

}  // namespace

std::vector<std::size_t> beaten_limits(const std::vector<LimitTrack>& limits) {
  std::vector<std::optional<Series>> all(limits.size());
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (can_be_beaten(limits[i])) all[i] = costs(limits[i]);
  }
  std::vector<std::size_t> beaten;
  for (std::size_t i = 0; i < limits.size(); ++i) {
    if (!all[i] || all[i]->values.empty()) continue;
    std::size_t best = i;
    for (std::size_t other = 0; other < limits.size(); ++other) {
      if (!all[other] || all[other]->values.empty() || !compete(limits[i], limits[other])) continue;
      if (median(all[other]->values) < median(all[best]->values)) best = other;
    }
    if (best != i && is_clearly_slower(*all[i], *all[best])) beaten.push_back(i);
  }
  return beaten;
}

}  // namespace headroom
