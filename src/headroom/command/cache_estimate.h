// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom/command/cache_run.h"
#include "headroom/record/record.h"
#include "headroom/stats/interval.h"

namespace headroom {

/// A typical value and what is known of it.
struct CacheEstimate {
  double value = 0;                  ///< the median
  std::optional<Interval> interval;  ///< 95 %; nothing for one value, or where one is not above 0
  std::size_t count = 0;
};

/// From six values on the interval is series_median_interval of their logarithms. For two to five no order
/// statistic goes far enough out: there it is Student's t of the logarithms, which takes them to be normal.
/// At least one value; std::invalid_argument otherwise.
CacheEstimate estimate_of(std::span<const double> values);

/// How many times as fast (or as good) the warm runs are: cold over warm of each pair, the other way round
/// where higher is better. Nothing without a pair in which both are above 0.
std::optional<CacheEstimate> speed_up(const ModelRun& model, Direction direction);

/// The first warm run over the second, likewise: 1 where warm is stable.
std::optional<CacheEstimate> settling(const ModelRun& model, Direction direction);

/// How many times as long (or as poor) a run is without one of the caches, `part` of CacheRun::parts, as
/// CachePair::warm_among_parts() of its pair. Nothing without such a pair.
std::optional<CacheEstimate> worth_of_part(const ModelRun& model, std::size_t part, Direction direction);

/// What the runs without a part measured, pair by pair, and what they held it against.
struct PartSamples {
  std::vector<double> without, warm;
  std::vector<std::uint32_t> rounds;
  LayerContent held;  ///< by the part, where it was most
};
PartSamples part_samples(const ModelRun& model, std::size_t part);

/// What a part saves of each run, in the metric's unit: the median of the differences of the pairs. At least
/// one pair; std::invalid_argument otherwise.
double saved_by_part(const PartSamples& samples, Direction direction);

/// The geometric mean of the speed-ups of all models that did not fail, in each round in which they have one;
/// its interval is about these models, measured again, and not about other models. Nothing where none of
/// them has a speed-up.
std::optional<CacheEstimate> suite_speed_up(const CacheRun& run, Direction direction);

/// What of a cold run the warm one does not take, as a share: 1 - 1/speed-up, the same number seen from the
/// other side, so that a table can have both. Nothing where higher is better: rates save nothing.
std::optional<double> saved_share(const CacheEstimate& speed_up, Direction direction);

/// PyTorch's cachebench.py instead sums, in percent: (1 - sum of warm / sum of cold) * 100. For its file
/// only: of runs that differ much it says something else than the ratios of the pairs do. Nothing where the
/// cold runs add up to 0.
std::optional<double> cachebench_percent(const ModelRun& model);

/// How many times as long as the later cold runs the first one took, where it took much longer: then
/// something outlives the clearing of the layers between the pairs, a cache that none of them names, and only
/// the first run was cold. Much is at least 1.25 times their median, and six times as far from it (in
/// logarithms) as three quarters of them are. Nothing with fewer than three pairs.
std::optional<double> first_cold_excess(const ModelRun& model, Direction direction);

/// The same as a sentence without its end; empty where there is nothing to say.
std::string unnamed_cache(const ModelRun& model, Direction direction);

std::vector<double> cold_values(const ModelRun& model);
std::vector<double> warm_values(const ModelRun& model);

}  // namespace headroom
