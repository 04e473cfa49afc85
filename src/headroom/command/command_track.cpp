// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_track.h"

#include "headroom/stats/trend.h"

namespace headroom {

std::size_t warmup_of(const CommandTrack& track) {
  std::vector<double> values;
  for (const CommandSample& sample : track.samples) values.push_back(sample.wall_ns);
  return warmup_length(values);
}

Series steady_series(const CommandTrack& track) {
  Series series;
  for (std::size_t i = warmup_of(track); i < track.samples.size(); ++i) {
    series.values.push_back(track.samples[i].wall_ns);
    series.rounds.push_back(track.samples[i].round);
  }
  if (!series.values.empty()) series.group_sizes.push_back(series.values.size());
  return series;
}

std::optional<RoundRatio> round_ratio(const CommandTrack& test, const CommandTrack& baseline, Look look) {
  const SeriesPairs pairs = pairs_of(steady_series(test), steady_series(baseline));
  return RoundRatio::of(pairs.a, pairs.b, look);
}

}  // namespace headroom
