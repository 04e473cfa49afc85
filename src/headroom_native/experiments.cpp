// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/experiments.h"

#include "headroom_native/gather_gemv.h"
#include "headroom_native/gemv.h"
#include "headroom_native/layer_norm.h"
#include "headroom_native/limit_copy.h"
#include "headroom_native/limit_peak.h"
#include "headroom_native/limit_pingpong.h"
#include "headroom_native/limit_read.h"
#include "headroom_native/limit_write.h"
#include "headroom_native/mlp_layer_norm_gelu.h"

namespace headroom::native {
namespace {

constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";

/// Powers of two from 16 KiB, within any first-level cache, to 1 GiB.
Axis working_sets() {
  Axis axis{"bytes", Axis::Kind::kInteger, {}};
  for (long long bytes = 16 << 10; bytes <= 1 << 30; bytes *= 2) axis.values.push_back(std::to_string(bytes));
  return axis;
}

void add_experiments(Registry& registry) {
  const std::initializer_list<long long> sizes{1024, 4096, 8192, 16384};
  registry.add("gemv", gemv)
      .summary("matrix times vector: y = W.to(bf16) @ x, W[D,D]")
      .axis("D", sizes)
      .axis("dtype", {"int8", "bf16"})
      .backends({"native", "reference"})
      .metric(kBandwidth);
  registry.add("gather_gemv", gather_gemv)
      .summary("two of eight matrices times a vector: y = W[[3,5]].to(bf16) @ x, W[8,D,D]")
      .axis("D", sizes)
      .axis("dtype", {"int8", "bf16"})
      .backends({"native", "reference"})
      .metric(kBandwidth);
  registry.add("layer_norm", layer_norm)
      .summary("LayerNorm over the rows of x[BS,D]")
      .axis("D", sizes)
      .axis("BS", {4096})
      .axis("dtype", {"bf16"})
      .backends({"native", "reference"})
      .metric(kBandwidth);
  registry.add("mlp_layer_norm_gelu", mlp_layer_norm_gelu)
      .summary("Linear, LayerNorm, Linear, LayerNorm of one vector of D, with `hidden` in between")
      .axis("D", sizes)
      .axis("hidden", {14336})
      .axis("dtype", {"bf16"})
      .backends({"native", "reference"})
      .metric("flops_utilization");
}

void add_limits(Registry& registry) {
  registry.add("limit.read", limit_read)
      .summary("bandwidth of reading a working set")
      .axis(working_sets())
      .axis("pattern", {"linear", "streams", "prefetch"})
      .metric(kBandwidth)
      .limit();
  registry.add("limit.write", limit_write)
      .summary("bandwidth of writing a working set")
      .axis(working_sets())
      .axis("pattern", {"plain", "nontemporal"})
      .metric(kBandwidth)
      .limit();
  registry.add("limit.copy", limit_copy)
      .summary("bandwidth of copying one half of a working set to the other, read and written bytes")
      .axis(working_sets())
      .axis("pattern", {"plain", "nontemporal", "prefetch"})
      .metric(kBandwidth)
      .limit();
  registry.add("limit.peak", limit_peak)
      .summary("arithmetic peak")
      .axis("dtype", {"f64", "f32", "bf16", "int8"})
      .axis("pattern", {"fma", "dot", "amx"})
      .limit();
  registry.add("limit.pingpong", limit_pingpong)
      .summary("time of a cache line from one CPU to another")
      .metric("latency")
      .limit();
}

}  // namespace

void register_native_experiments(Registry& registry) {
  add_experiments(registry);
  add_limits(registry);
}

}  // namespace headroom::native
