// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/gpt_fast/layer_norm.h"

#include <fmt/format.h>

#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/device/device_inputs.h"
#include "headroom_cuda/device/kernel_plan.h"
#include "headroom_cuda/kernels/norm.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {

void layer_norm(State& state) {
  const auto device = device_of(state);
  const Team team = fresh_threads(state.threads());
  const auto inputs = layer_norm_workload(state, team);
  NormProblem problem;
  problem.rows = device_size(state, inputs->rows, "rows");
  problem.columns = device_size(state, inputs->columns, "columns");
  problem.epsilon = kNormEpsilon;
  const auto x =
      shared_copies(state, fmt::format("layer_norm BS={} D={}", inputs->rows, inputs->columns), inputs->x);
  const DeviceBuffer gamma = uploaded(state, inputs->gamma);
  const DeviceBuffer beta = uploaded(state, inputs->beta);
  problem.gamma = gamma.as<float>();
  problem.beta = beta.as<float>();
  DeviceBuffer y(state, x->stride() * inputs->y.copies());

  const NormPlan plan = noted(state, *device,
                              norm_plan(inputs->rows, inputs->columns,
                                        static_cast<unsigned>(device->multiprocessors()), state.variant()));
  const Launch launch = [&](std::size_t copy, cudaStream_t stream) {
    NormProblem of_copy = problem;
    of_copy.x = reinterpret_cast<const std::uint16_t*>(x->copy(copy));
    of_copy.y = reinterpret_cast<std::uint16_t*>(y.data() + copy * x->stride());
    launch_norm(of_copy, plan, stream);
  };
  verify_on_device<Bf16>(state, *device, launch, y, inputs->expected(team), LayerNormWorkload::kTolerance);
  measure_on_device(state, *device, launch);
}

}  // namespace headroom::cuda
