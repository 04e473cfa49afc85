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

/// A median with its interval.
struct CacheEstimate {
  double value = 0;
  std::optional<Interval> interval;  ///< 95 %; nothing for one value or values not above 0
  std::size_t count = 0;
};

/// Estimates the median. From six values on the interval is series_median_interval of the logarithms; for two
/// to five, where order statistics do not reach far enough, Student's t of the logarithms, assumed normal.
/// Throws std::invalid_argument without values.
CacheEstimate estimate_of(std::span<const double> values);

/// Returns the speed-up of warm runs: cold over warm of each pair, inverted if higher is better. Nothing
/// without a pair in which both are above 0.
std::optional<CacheEstimate> speed_up(const ModelRun& model, Direction direction);

/// Returns the first warm run over the second, likewise: 1 if warm is stable.
std::optional<CacheEstimate> settling(const ModelRun& model, Direction direction);

/// Returns the slow-down without one of the caches, `part` of CacheRun::parts, against
/// CachePair::warm_among_parts(). Nothing without such a pair.
std::optional<CacheEstimate> worth_of_part(const ModelRun& model, std::size_t part, Direction direction);

/// The runs without a part and their baselines, pair by pair.
struct PartSamples {
  std::vector<double> without, warm;
  std::vector<std::uint32_t> rounds;
  LayerContent held;  ///< largest content of the part
};
PartSamples part_samples(const ModelRun& model, std::size_t part);

/// Returns what a part saves per run, in the metric's unit: the median difference of the pairs. Throws
/// std::invalid_argument without pairs.
double saved_by_part(const PartSamples& samples, Direction direction);

/// Returns the geometric mean over the speed-ups of all models that did not fail, by round. The interval
/// covers repeated measurement of these models, not other models. Nothing without a speed-up.
std::optional<CacheEstimate> suite_speed_up(const CacheRun& run, Direction direction);

/// Returns the share of a cold run that the warm run saves: 1 - 1/speed-up. Nothing if higher is better.
std::optional<double> saved_share(const CacheEstimate& speed_up, Direction direction);

/// Returns the percentage of PyTorch's cachebench.py, for its file only: (1 - sum of warm / sum of cold) *
/// 100. Differs from the pairwise ratios if runs vary much. Nothing if the cold runs sum to 0.
std::optional<double> cachebench_percent(const ModelRun& model);

/// Returns the first cold run over the median of the later ones if it is much longer: a cache outside the
/// layers then survives between pairs. Much: at least 1.25 times the median, and six times as far from it (in
/// logarithms) as three quarters of them. Nothing with fewer than three pairs.
std::optional<double> first_cold_excess(const ModelRun& model, Direction direction);

/// The same as the start of a sentence; empty if there is nothing to report.
std::string unnamed_cache(const ModelRun& model, Direction direction);

std::vector<double> cold_values(const ModelRun& model);
std::vector<double> warm_values(const ModelRun& model);

/// Returns the records of a run: for each model the cold and the warm metric, "speedup" (cold over warm of
/// each pair) and the second warm run if any, plus the geometric mean of the suite. Rounds are pairs.
/// metric.extra_info has the content of every layer ("layer.ccache"). A failed model has one record with the
/// reason.
std::vector<Record> cache_records(const CacheRequest& request, const CacheRun& run,
                                  std::shared_ptr<const Environment> environment);

/// Returns the records in the form of PyTorch's cachebench.py, three per model: cold values, warm values,
/// speed-up in percent. Omits models without a full result; empty if none is left, as it then writes no file.
std::string cachebench_json(const CacheRequest& request, const CacheRun& run);

/// "Cold compile time (s)".
std::string phase_metric(const char* phase, const MetricSource& metric);

/// Returns the view of `headroom cache`: the benefit of the cache and whether cold was cold; a row per model
/// (cold, warm, speed-up with interval), the geometric mean, the layers cleared and their content before and
/// after, and failed models.
Sheet cache_sheet(const CacheRequest& request, const CacheRun& run);

}  // namespace headroom
