// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/gpt_fast/mlp_layer_norm_gelu.h"

#include <fmt/format.h>

#include "headroom/workload/mlp_workload.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/device/device_inputs.h"
#include "headroom_cuda/device/kernel_plan.h"
#include "headroom_cuda/kernels/linear.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_samples.h"

namespace headroom::cuda {
namespace {

constexpr const char* kBehindOther = "second launch behind the first";
constexpr const char* kEarly = "second launch early";
constexpr const char* kBothEarly = "both launches early";

/// One layer's inputs on the device, and its result before the LayerNorm.
struct DeviceLayer {
  std::uint32_t inputs, outputs;
  std::shared_ptr<const DeviceCopies> weights;
  DeviceBuffer bias, gamma, beta;
  DeviceBuffer values, moments;
  GemvPlan plan;

  DeviceLayer(State& state, const Device& device, const std::string& name, const MlpWorkload::Layer& layer,
              std::size_t columns)
      : inputs(device_size(state, columns, "columns")),
        outputs(device_size(state, layer.outputs(), "rows")),
        weights(shared_copies(state, name, layer.weights)),
        bias(uploaded(state, layer.bias)),
        gamma(uploaded(state, layer.gamma)),
        beta(uploaded(state, layer.beta)),
        plan(linear_plan(outputs, columns * sizeof(Bf16), static_cast<unsigned>(device.multiprocessors()))) {
    values = DeviceBuffer(state, outputs * sizeof(float));
    moments = DeviceBuffer(state, plan.blocks * sizeof(Moments));
  }
  GemvMatrix matrix(std::size_t copy) const {
    return {weights->copy(copy), weights->end(copy), nullptr, outputs, inputs, outputs};
  }
  UnnormedVector result() const { return {values.as<float>(), moments.as<Moments>(), plan.blocks}; }
  NormParameters norm() const { return {gamma.as<std::uint16_t>(), beta.as<std::uint16_t>()}; }
};

struct Starts {
  Start first = Start::kBehindOther, second = Start::kBehindOther;
};

Starts starts_of(State& state, const Device& device) {
  Starts starts;
  if (state.variant() == kBothEarly) starts.first = Start::kEarly;
  if (state.variant() == kEarly || state.variant() == kBothEarly) starts.second = Start::kEarly;
  require_start(state, device, starts.second);
  state.note("variant", state.variant().empty() ? kBehindOther : state.variant());
  return starts;
}

void measure(State& state, Device& device, const MlpWorkload& inputs, DeviceBuffer& y, Tolerance tolerance,
             const Launch& launch) {
  verify_on_device<Bf16>(state, device, launch, y, inputs.expected, tolerance);
  measure_on_device(state, device, launch);
}

}  // namespace

std::vector<std::string> mlp_variants() {
  return {kBehindOther, kEarly, kBothEarly};
}

void mlp_layer_norm_gelu(State& state) {
  const auto device = device_of(state);
  const auto inputs = mlp_workload(state, fresh_threads(state.threads()));
  const std::size_t size = inputs->x.size();
  const std::string axes = fmt::format("mlp D={} hidden={}", size, inputs->up.outputs());
  const DeviceLayer up(state, *device, axes + " up", inputs->up, size);
  const DeviceLayer down(state, *device, axes + " down", inputs->down, inputs->up.outputs());
  const DeviceBuffer x = uploaded(state, inputs->x);
  const DeviceBuffer finished = uploaded(state, std::vector<std::uint32_t>{0});
  DeviceBuffer y(state, size * sizeof(Bf16));
  if (state.backend() != "cuda") {
    const PeerChain chain{{up.inputs, up.outputs, up.weights, up.bias.data(), &inputs->up},
                          {down.inputs, down.outputs, down.weights, down.bias.data(), &inputs->down},
                          x.data(),
                          y.data()};
    measure(state, *device, *inputs, y, kPeerChainTolerance, peer_launch(state, *device, chain));
    return;
  }
  const Starts starts = starts_of(state, *device);
  measure(state, *device, *inputs, y, MlpWorkload::kTolerance, [&](std::size_t copy, cudaStream_t stream) {
    launch_linear({up.matrix(copy), x.as<std::uint16_t>(), up.bias.as<std::uint16_t>(), up.result()}, up.plan,
                  starts.first, stream);
    launch_normed_linear({down.matrix(copy), up.result(), up.norm(), down.bias.as<std::uint16_t>(),
                          down.result(), down.norm(), finished.as<std::uint32_t>(), y.as<std::uint16_t>()},
                         down.plan, starts.second, stream);
  });
}

}  // namespace headroom::cuda
