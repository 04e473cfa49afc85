// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/cuda/cuda_experiments.h"

#include "headroom/trace/recording/recorder.h"
#include "headroom_cuda_device/cupti/cupti_recorder.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/device_list.h"
#include "headroom_cuda_device/driver.h"
#include "headroom_torch/cuda/cuda_place.h"
#include "headroom_torch/experiments.h"

namespace headroom::torch_runner {

void register_torch_cuda_experiments(Registry& registry) {
  registry.require_with(cuda::require_device);
  registry.trace_with(trace::record_call<cuda::CuptiRecorder>);
  registry.end_where_lost_with(cuda::lost_context);
  registry.describe_devices_with(cuda::describe_devices);
  SeedExperiments experiments = placed_experiments(on_cuda);
  for (SeedExperiment* one : {&experiments.gemv, &experiments.gather_gemv})
    one->backends = {"aten_cuda", "aten_cuda_out"};
  // native_layer_norm has no kernel that writes into an output: with one it would copy what it made.
  for (SeedExperiment* one : {&experiments.layer_norm, &experiments.mlp_layer_norm_gelu})
    one->backends = {"aten_cuda"};
  add_seed_experiments(registry, experiments, "cuda");
}

}  // namespace headroom::torch_runner
