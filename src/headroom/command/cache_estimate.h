// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
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

/// The geometric mean of the speed-ups of all models that did not fail, in each round in which they have one;
/// its interval is about these models, measured again, and not about other models. Nothing where none of
/// them has a speed-up.
std::optional<CacheEstimate> suite_speed_up(const CacheRun& run, Direction direction);

/// What of the cold runs' time the warm ones do not take, in percent: (1 - sum of warm / sum of cold) * 100,
/// as PyTorch's cachebench.py reports it. Nothing where the cold runs add up to 0.
std::optional<double> saved_percent(const ModelRun& model);

std::vector<double> cold_values(const ModelRun& model);
std::vector<double> warm_values(const ModelRun& model);

}  // namespace headroom
