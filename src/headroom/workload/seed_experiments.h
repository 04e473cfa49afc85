// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include "headroom/experiment/registry.h"

namespace headroom {

/// A runner's implementations of the experiments of gpt-fast's benchmark; null: it has none of this one.
struct SeedExperiments {
  Experiment::Function gemv = nullptr;
  Experiment::Function gather_gemv = nullptr;
  Experiment::Function layer_norm = nullptr;
  Experiment::Function mlp_layer_norm_gelu = nullptr;
};

/// Adds them with the axes, metrics and summaries that are the same for every runner, so that cases of
/// different runners are compared.
void add_seed_experiments(Registry& registry, const SeedExperiments& functions,
                          std::initializer_list<const char*> backends);

}  // namespace headroom
