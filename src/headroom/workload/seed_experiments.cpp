// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/seed_experiments.h"

namespace headroom {

void add_seed_experiments(Registry& registry, const SeedExperiments& runner, const std::string& device) {
  constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";
  const std::initializer_list<long long> sizes{1024, 4096, 8192, 16384};
  const auto add = [&](const char* name, const SeedExperiment& of, const char* summary,
                       const char* metric) -> Experiment& {
    Experiment& added = registry.add(name, of.run).summary(summary).axis("D", sizes).metric(metric);
    added.backends(of.backends).device(device);
    for (const auto& [backend, names] : of.variants) added.variants(backend, names);
    return added;
  };
  if (runner.gemv.run != nullptr) {
    add("gemv", runner.gemv, "matrix times vector: y = W.to(bf16) @ x, W[D,D]", kBandwidth)
        .axis("dtype", {"int8", "bf16"});
  }
  if (runner.gather_gemv.run != nullptr) {
    add("gather_gemv", runner.gather_gemv,
        "two of eight matrices times a vector: y = W[[3,5]].to(bf16) @ x, W[8,D,D]", kBandwidth)
        .axis("dtype", {"int8", "bf16"});
  }
  if (runner.layer_norm.run != nullptr) {
    add("layer_norm", runner.layer_norm, "LayerNorm over the rows of x[BS,D]", kBandwidth)
        .axis("BS", {4096})
        .axis("dtype", {"bf16"});
  }
  if (runner.mlp_layer_norm_gelu.run != nullptr) {
    add("mlp_layer_norm_gelu", runner.mlp_layer_norm_gelu,
        "Linear, LayerNorm, Linear, LayerNorm of one vector of D, with `hidden` in between",
        "flops_utilization")
        .axis("hidden", {14336})
        .axis("dtype", {"bf16"});
  }
}

}  // namespace headroom
