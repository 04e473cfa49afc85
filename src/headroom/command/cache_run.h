// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/command/cache_layer.h"
#include "headroom/command/suite.h"

namespace headroom {

/// A request to measure models with cold and warm caches.
struct CacheRequest {
  Suite suite;
  std::vector<std::string> models;  ///< of the suite, or any if Suite::any_model
  OptionValues options;             ///< values for all options of the suite
  Placeholders places;              ///< python, here, bin, suite_dir
  std::size_t repeat = 1;           ///< pairs per model
  bool warm_twice = false;          ///< second warm run in each pair
  /// Adds to each pair one run per non-empty cache with only that cache removed. These and the second warm
  /// run are in random order.
  bool each_layer = false;
  std::uint64_t seed = 1;         ///< of the order of the models
  std::filesystem::path journal;  ///< folder with notes on folders set aside
  double most_ns_of_model = std::numeric_limits<double>::infinity();  ///< of its pairs, one at least
  /// Of all pairs: no run is begun after it, and the pair that lacks one is dropped.
  double run_time_ns = std::numeric_limits<double>::infinity();
  std::string out_of_time{};  ///< why a model without a pair was not reached by then
};

/// The content of a layer before the cold run, after it, and after the last warm run.
struct LayerReading {
  LayerContent before, after_cold, after_warm;
  std::string warmth;  ///< reason, if it was not cold before the cold run
};

/// A run with one cache removed and all others warm.
struct PartRun {
  LayerContent held;            ///< content of the removed cache
  std::optional<double> value;  ///< in the metric's unit; nothing if the cache was empty and the run skipped
};

/// A cold run and one or two warm runs with the caches that it filled, in the metric's unit.
struct CachePair {
  std::uint32_t round = 0;
  double cold = 0, warm = 0;
  std::optional<double> warm_again;
  std::vector<LayerReading> layers;  ///< in the order of the suite
  std::vector<PartRun> without;      ///< by CacheRun::parts, with CacheRequest::each_layer
  LeftOver elsewhere;  ///< files in the pair's TMPDIR that belong to no layer; cold before the pair, too

  /// The baseline of runs without a part: the warm run measured among them, if there is one.
  double warm_among_parts() const { return warm_again.value_or(warm); }
};

struct ModelRun {
  std::string model;
  std::vector<CachePair> pairs;
  std::string failure;         ///< reason for giving up; earlier pairs are kept
  std::string left_running{};  ///< LeftRunning::note of its commands
  std::string unreached{};     ///< why it has no pair, if the time was over
  bool capped = false;         ///< it has fewer pairs than asked for, since the time was over
};

struct CacheRun {
  std::vector<ModelRun> models;      ///< in the requested order
  std::vector<std::string> parts{};  ///< names of the separable caches, with each_layer
  bool interrupted = false;
};

/// Progress of a run.
struct CacheStep {
  std::string model;
  std::string phase;                ///< "cold", "warm", "warm again", "inductor.code cold"
  std::uint32_t round = 0;          ///< number of earlier pairs of this model
  std::size_t pair = 0, pairs = 0;  ///< over all models
};

struct CacheObserver {
  std::function<void(const CacheStep&)> on_step;
  /// Called after each pair and after giving up a model.
  std::function<void(const CacheRun&)> on_progress;
};

/// Measures pairs: makes every layer cold, runs the command, and runs it again. Gives up a model whose
/// command fails, times out, destroys a layer or yields no number; the others go on. Always restores what was
/// set aside and removes what was made. Throws Error if nothing can be measured: a layer that cannot be
/// cleared, no place for temporary folders.
CacheRun run_cache(const CacheRequest& request, const CacheObserver& observer,
                   const std::function<bool()>& is_interrupted);

/// Returns the order of the pairs as model indices: model after model, or round by round with the models of
/// each round in random order.
std::vector<std::size_t> pair_order(std::size_t models, std::size_t repeat, bool random_order,
                                    std::uint64_t seed);

/// A request and its result, as far as tables show it.
struct ShownCacheRun {
  CacheRequest request;
  CacheRun run;
};

/// Returns what cache_sheet() needs beyond the records, such as the layers of each pair:
/// InstrumentOptions::cache_run.
Json cache_run_json(const CacheRequest& request, const CacheRun& run);

/// Reads what cache_run_json() returns. Throws Error naming `source` if it is invalid.
ShownCacheRun cache_run_from_json(const Json& json, const std::string& source);

}  // namespace headroom
