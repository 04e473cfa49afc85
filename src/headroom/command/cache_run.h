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

struct CacheRequest {
  Suite suite;
  std::vector<std::string> models;  ///< any names if Suite::any_model
  OptionValues options;
  Placeholders places;
  std::size_t repeat = 1;  ///< pairs per model
  bool warm_twice = false;
  /// Adds runs with only one non-empty cache removed, in random order with the second warm run.
  bool each_layer = false;
  std::uint64_t seed = 1;
  std::filesystem::path journal;  ///< folder for notes on folders set aside
  double max_ns_of_model =
      std::numeric_limits<double>::infinity();  ///< limits the pairs of a model, but not its first
  /// No run starts after it; an incomplete pair is dropped.
  double run_time_ns = std::numeric_limits<double>::infinity();
  std::string out_of_time{};  ///< reason for models without a pair
};

/// Content of a layer before the cold run, after it, and after the last warm run.
struct LayerReading {
  LayerContent before, after_cold, after_warm;
  std::string warmth;  ///< why it was not cold; empty if it was
};

struct PartRun {
  LayerContent held;
  std::optional<double> value;  ///< in the metric's unit; nothing if the cache was empty
};

/// Cold and warm runs, in the metric's unit.
struct CachePair {
  std::uint32_t round = 0;
  double cold = 0, warm = 0;
  std::optional<double> warm_again;
  std::vector<LayerReading> layers;
  std::vector<PartRun> without;  ///< by CacheRun::parts
  LeftOver elsewhere;            ///< files in TMPDIR outside the layers; removed before each pair

  /// Baseline of `without`.
  double part_baseline() const { return warm_again.value_or(warm); }
};

struct ModelRun {
  std::string model;
  std::vector<CachePair> pairs;
  std::string failure;         ///< why it was given up; earlier pairs are kept
  std::string left_running{};  ///< LeftRunning::note()
  std::string unreached{};     ///< reason, if time ran out
  bool capped = false;         ///< fewer pairs because time ran out
};

struct CacheRun {
  std::vector<ModelRun> models;
  std::vector<std::string> parts{};  ///< separable caches, with each_layer
  bool interrupted = false;
};

struct CacheStep {
  std::string model;
  std::string phase;                ///< "cold", "warm", "warm again", "inductor.code cold"
  std::uint32_t round = 0;          ///< earlier pairs of this model
  std::size_t pair = 0, pairs = 0;  ///< over all models
};

struct CacheObserver {
  std::function<void(const CacheStep&)> on_step;
  /// Called after each pair and each failed model.
  std::function<void(const CacheRun&)> on_progress;
};

/// Skips the rest of a model whose command fails, times out, damages a layer or yields no number. Always
/// restores folders. Throws Error if nothing can be measured.
CacheRun run_cache(const CacheRequest& request, const CacheObserver& observer,
                   const std::function<bool()>& is_interrupted);

/// Model after model, or rounds in random order.
std::vector<std::size_t> pair_order(std::size_t models, std::size_t repeat, bool random_order,
                                    std::uint64_t seed);

struct ShownCacheRun {
  CacheRequest request;
  CacheRun run;
};

/// Data of cache_view() that records lack.
Json cache_run_json(const CacheRequest& request, const CacheRun& run);

/// Inverse of cache_run_json(). Throws Error naming `source`.
ShownCacheRun cache_run_from_json(const Json& json, const std::string& source);

}  // namespace headroom
