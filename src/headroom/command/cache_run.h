// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/command/cache_layer.h"
#include "headroom/command/suite.h"

namespace headroom {

/// What is to be measured.
struct CacheRequest {
  Suite suite;
  std::vector<std::string> models;  ///< of the suite, or any where it allows that
  OptionValues options;             ///< a value for each option of the suite
  Placeholders places;              ///< python, here, bin, suite_dir
  std::size_t repeat = 1;           ///< pairs a model
  bool warm_twice = false;          ///< a second warm run in each pair
  /// A run more in each pair for each cache that holds something, with that alone taken away. They, and the
  /// second warm run, are in random order.
  bool each_layer = false;
  std::uint64_t seed = 1;         ///< of the order of the models
  std::filesystem::path journal;  ///< that remembers what was set aside
};

/// A layer before the cold run, after it, and after the last warm one.
struct LayerReading {
  LayerContent before, after_cold, after_warm;
  std::string warmth;  ///< why it was not cold before the cold run; empty where it was
};

/// A run for which one cache was taken away, and all others were as the warm run left them.
struct PartRun {
  LayerContent held;            ///< by that cache
  std::optional<double> value;  ///< in the metric's unit; nothing where it held nothing, and nothing was run
};

/// A run with cold caches and one or two with what it left in them, in the metric's unit.
struct CachePair {
  std::uint32_t round = 0;
  double cold = 0, warm = 0;
  std::optional<double> warm_again;
  std::vector<LayerReading> layers;  ///< in the order of the suite's
  std::vector<PartRun> without;      ///< by CacheRun::parts, with CacheRequest::each_layer
  LeftOver elsewhere;                ///< in the TMPDIR of the pair: of no layer, and cold before it, too

  /// What runs without a part are held against: the warm run that was measured among them, where there is
  /// one.
  double warm_among_parts() const { return warm_again.value_or(warm); }
};

struct ModelRun {
  std::string model;
  std::vector<CachePair> pairs;
  std::string failure;         ///< why it was given up; the pairs before that are kept
  std::string left_running{};  ///< what its commands left running: LeftRunning::note
};

struct CacheRun {
  std::vector<ModelRun> models;      ///< in the order asked for
  std::vector<std::string> parts{};  ///< the caches that can be taken away one by one, with each_layer
  bool interrupted = false;
};

/// Where a run is.
struct CacheStep {
  std::string model;
  std::string phase;                ///< "cold", "warm", "warm again", "inductor.code cold"
  std::uint32_t round = 0;          ///< pairs of this model before it
  std::size_t pair = 0, pairs = 0;  ///< of all models together
};

struct CacheObserver {
  std::function<void(const CacheStep&)> on_step;
  /// After each pair, and after a model was given up.
  std::function<void(const CacheRun&)> on_progress;
};

/// Measures pairs: every layer made cold, one run, and the same command again. A model whose command fails,
/// takes too long, destroys a layer or gives no number is given up; the others go on. What was set aside or
/// made is put back or removed in every case. Throws Error where nothing can be measured: a layer that cannot
/// be cleared here, no place for temporary folders.
CacheRun run_cache(const CacheRequest& request, const CacheObserver& observer,
                   const std::function<bool()>& is_interrupted);

/// The order in which pairs are measured, as indices of models: model after model, or round by round with the
/// models of each in random order.
std::vector<std::size_t> pair_order(std::size_t models, std::size_t repeat, bool random_order,
                                    std::uint64_t seed);

}  // namespace headroom
