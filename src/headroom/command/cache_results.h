// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom/command/cache_run.h"
#include "headroom/record/record.h"
#include "headroom/stats/interval.h"
#include "headroom/tables/table.h"

namespace headroom {

struct CacheEstimate {
  double value = 0;
  std::optional<Interval> interval;  ///< 95 %; needs two values, all > 0
  std::size_t count = 0;
};

/// Estimates the median: from six values on with series_median_interval of the logarithms, below that with
/// Student's t, as order statistics do not reach far enough. Throws std::invalid_argument if empty.
CacheEstimate estimate_of(std::span<const double> values);

/// Cold over warm, by pair; inverted if higher is better. Nothing without a pair of positive values.
std::optional<CacheEstimate> speed_up(const ModelRun& model, Direction direction);

/// The first warm run over the second; 1 if stable.
std::optional<CacheEstimate> warm_run_ratio(const ModelRun& model, Direction direction);

/// The slow-down without `part` (index in CacheRun::parts) against CachePair::part_baseline().
std::optional<CacheEstimate> part_slowdown(const ModelRun& model, std::size_t part, Direction direction);

struct PartSamples {
  std::vector<double> without, warm;
  std::vector<std::uint32_t> rounds;
  LayerContent held;
};
PartSamples part_samples(const ModelRun& model, std::size_t part);

/// Median difference, in the metric's unit. Throws std::invalid_argument without pairs.
double part_saving(const PartSamples& samples, Direction direction);

/// Geometric mean, by round. The interval covers repetition, not other models.
std::optional<CacheEstimate> suite_speed_up(const CacheRun& run, Direction direction);

/// 1 - 1/speed-up; nothing if higher is better.
std::optional<double> saved_share(const CacheEstimate& speed_up, Direction direction);

/// (1 - sum of warm / sum of cold) * 100, for PyTorch's cachebench.py: differs from the pairwise ratios if
/// runs vary. Nothing if the cold runs sum to 0.
std::optional<double> cachebench_percent(const ModelRun& model);

/// The first cold run over the median of the later ones, if at least 1.25 times as long and six times as far
/// from it (in logarithms) as three quarters of them: a cache outside the layers survives. Nothing below
/// three pairs.
std::optional<double> first_cold_excess(const ModelRun& model, Direction direction);

std::string unnamed_cache(const ModelRun& model, Direction direction);

std::vector<double> cold_values(const ModelRun& model);
std::vector<double> warm_values(const ModelRun& model);

/// Per model cold, warm, second warm and "speedup"; for the suite the geometric mean. Rounds are pairs.
/// metric.extra_info has each layer's content. A failed model has one record with the reason.
std::vector<Record> cache_records(const CacheRequest& request, const CacheRun& run,
                                  const std::shared_ptr<const Environment>& environment);

/// Writes PyTorch's cachebench.py format: cold, warm, speed-up in percent per complete model; may be empty.
std::string cachebench_json(const CacheRequest& request, const CacheRun& run);

/// "Cold compile time (s)".
std::string phase_metric(const char* phase, const MetricSource& metric);

View cache_view(const CacheRequest& request, const CacheRun& run);

}  // namespace headroom
