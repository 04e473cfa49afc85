// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/experiments.h"

#include "headroom/workload/llm_workload.h"
#include "headroom_torch/calls/op_recorder.h"
#include "headroom_torch/gpt_fast/gpt_fast.h"
#include "headroom_torch/llm/aten_decoder.h"
#include "headroom_torch/modules/modules.h"
#include "headroom_torch/tensors/libtorch.h"

namespace headroom::torch_runner {

SeedExperiments placed_experiments(const std::function<Experiment::Function(PlacedExperiment)>& at) {
  return {.gemv = {at(gemv), {}},
          .gather_gemv = {at(gather_gemv), {}},
          .layer_norm = {at(layer_norm), {}},
          .mlp_layer_norm_gelu = {at(mlp_layer_norm_gelu), {}}};
}

void register_torch_experiments(Registry& registry) {
  const std::vector<std::string> backends{"aten", "aten_out"};
  SeedExperiments experiments =
      placed_experiments([](PlacedExperiment run) { return [run](State& state) { run(state, Place{}); }; });
  for (SeedExperiment* one : {&experiments.gemv, &experiments.gather_gemv, &experiments.layer_norm,
                              &experiments.mlp_layer_norm_gelu}) {
    one->backends = backends;
  }
  add_seed_experiments(registry, experiments);
  add_llm_experiments(registry, llm_decode, {"aten", "aten_out"});
  registry.describe_blas_with(torch_blas);
  registry.take_arguments_with(register_modules);
  registry.trace_with(trace::record_call<OpRecorder>);
}

}  // namespace headroom::torch_runner
