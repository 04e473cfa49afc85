// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/seed_experiments.h"

namespace headroom {

void add_seed_experiments(Registry& registry, const SeedExperiments& functions,
                          std::initializer_list<const char*> backends) {
  constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";
  const std::initializer_list<long long> sizes{1024, 4096, 8192, 16384};
  const auto add = [&](const char* name, Experiment::Function function, const char* summary,
                       const char* metric) -> Experiment& {
    return registry.add(name, function).summary(summary).axis("D", sizes).backends(backends).metric(metric);
  };
  if (functions.gemv != nullptr) {
    add("gemv", functions.gemv, "matrix times vector: y = W.to(bf16) @ x, W[D,D]", kBandwidth)
        .axis("dtype", {"int8", "bf16"});
  }
  if (functions.gather_gemv != nullptr) {
    add("gather_gemv", functions.gather_gemv,
        "two of eight matrices times a vector: y = W[[3,5]].to(bf16) @ x, W[8,D,D]", kBandwidth)
        .axis("dtype", {"int8", "bf16"});
  }
  if (functions.layer_norm != nullptr) {
    add("layer_norm", functions.layer_norm, "LayerNorm over the rows of x[BS,D]", kBandwidth)
        .axis("BS", {4096})
        .axis("dtype", {"bf16"});
  }
  if (functions.mlp_layer_norm_gelu != nullptr) {
    add("mlp_layer_norm_gelu", functions.mlp_layer_norm_gelu,
        "Linear, LayerNorm, Linear, LayerNorm of one vector of D, with `hidden` in between",
        "flops_utilization")
        .axis("hidden", {14336})
        .axis("dtype", {"bf16"});
  }
}

}  // namespace headroom
