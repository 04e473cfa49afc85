// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/gpt_fast/gemv.h"

#include <fmt/format.h>

#include "headroom/workload/gemv_workload.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/device/device_inputs.h"
#include "headroom_cuda/device/kernel_plan.h"
#include "headroom_cuda/kernels/gemv.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {

void gemv(State& state) {
  const auto device = device_of(state);
  const auto inputs = gemv_workload(state, fresh_threads(state.threads()));
  const std::uint32_t size = device_size(state, inputs->size, "rows");
  const auto weights =
      shared_copies(state, fmt::format("gemv D={} dtype={}", inputs->size, inputs->dtype), inputs->weights);
  const DeviceBuffer x = uploaded(state, inputs->x);
  DeviceBuffer y(state, inputs->size * sizeof(Bf16));

  Launch launch;
  if (state.backend() == "cuda") {
    const GemvPlan plan = noted(state, *device,
                                gemv_plan(size, size * item_bytes(inputs->dtype),
                                          static_cast<unsigned>(device->multiprocessors()), state.variant()));
    launch = [=, &inputs = *inputs, &weights = *weights, from = x.as<std::uint16_t>(),
              to = y.as<std::uint16_t>()](std::size_t copy, cudaStream_t stream) {
      const GemvMatrix matrix{weights.copy(copy), weights.end(copy), nullptr, size, size, size};
      launch_gemv({matrix, from, to}, inputs.dtype, plan, stream);
    };
  } else {
    PeerMatrices matrices{inputs->dtype, inputs->size, inputs->size, 1, {}, {}, x.data(), y.data()};
    for (std::size_t copy = 0; copy < inputs->weights.copies(); ++copy) {
      matrices.first.push_back(weights->copy(copy));
    }
    launch = peer_launch(state, *device, matrices);
  }
  verify_on_device<Bf16>(state, *device, launch, y, inputs->expected, GemvWorkload::kTolerance);
  measure_on_device(state, *device, launch);
}

}  // namespace headroom::cuda
