// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "headroom/experiment/registry.h"

namespace headroom {

/// A runner's implementations of one experiment of gpt-fast's benchmark.
struct SeedExperiment {
  Experiment::Function run = nullptr;  ///< null: it has none
  std::vector<std::string> backends;
  std::map<std::string, std::vector<std::string>> variants{};  ///< by backend
};
struct SeedExperiments {
  SeedExperiment gemv, gather_gemv, layer_norm, mlp_layer_norm_gelu;
};

/// Adds them with the axes, metrics and summaries that are the same for every runner, so that cases of
/// different runners are compared. `device` is where they run (Experiment::device).
void add_seed_experiments(Registry& registry, const SeedExperiments& runner,
                          const std::string& device = "cpu");

}  // namespace headroom
