// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/llm_workload.h"
#include "headroom_cuda/gpt_fast/gpt_fast.h"
#include "headroom_cuda/kernels/kernel_plan.h"
#include "headroom_cuda/limits/limits.h"
#include "headroom_cuda/llm/llm_decode.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/cupti/cupti_recorder.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {

namespace {

constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";

/// Powers of two from 1 MiB (fits any L2) to 4 GiB (fits none).
Axis working_sets() {
  Axis axis{"bytes", Axis::Kind::kInteger, {}};
  for (long long bytes = 1 << 20; bytes <= 4LL << 30; bytes *= 2)
    axis.values.push_back(std::to_string(bytes));
  return axis;
}

/// Limits are named as headroom-native's, but belong to the device.
void add_limits(Registry& registry) {
  const auto limit = [&](const char* name, Experiment::Function run) -> Experiment& {
    return registry.add(name, std::move(run)).device("cuda").backends({"cuda"}).limit();
  };
  limit("limit.read", limit_read)
      .summary("bandwidth of reading a working set")
      .axis(working_sets())
      .axis("pattern", {"linear", "blocked", "tiles"})
      .metric(kBandwidth);
  limit("limit.write", limit_write)
      .summary("bandwidth of writing a working set")
      .axis(working_sets())
      .axis("pattern", {"plain", "evict_first", "tiles"})
      .metric(kBandwidth);
  limit("limit.copy", limit_copy)
      .summary("bandwidth of copying one half of a working set to the other, read and written bytes")
      .axis(working_sets())
      .axis("pattern", {"plain", "evict_first", "tiles"})
      .metric(kBandwidth);
  limit("limit.peak", limit_peak)
      .summary("arithmetic peak")
      .axis("dtype", {"f64", "f32", "tf32", "f16", "bf16", "fp8", "int8"})
      .axis("pattern", {"fma", "mma", "wgmma"});
}

std::vector<std::string> backends_with(const std::vector<std::string>& peers) {
  std::vector<std::string> all{"cuda"};
  all.insert(all.end(), peers.begin(), peers.end());
  return all;
}

}  // namespace

/// The registry then requires a CUDA device.
void register_cuda_experiments(Registry& registry) {
  registry.require_with(require_device);
  registry.trace_with(trace::record_call<CuptiRecorder>);
  registry.end_where_lost_with(lost_context);
  registry.describe_devices_with(describe_devices);
  add_seed_experiments(registry,
                       {{gemv, backends_with(gemv_peers()), {{"cuda", gemv_variants()}}},
                        {gather_gemv, backends_with(gemv_peers()), {{"cuda", gemv_variants()}}},
                        {layer_norm, {"cuda"}, {{"cuda", norm_variants()}}},
                        {mlp_layer_norm_gelu, backends_with(mlp_peers()), {{"cuda", mlp_variants()}}}},
                       "cuda");
  add_llm_experiments(registry, llm_decode, {"cuda"}, "cuda");
  add_limits(registry);
}

}  // namespace headroom::cuda

namespace {

/// Runs before main().
[[maybe_unused]] const bool registered =
    (headroom::cuda::register_cuda_experiments(headroom::registry()), true);

}  // namespace
