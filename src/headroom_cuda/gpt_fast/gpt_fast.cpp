// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/gpt_fast/gpt_fast.h"

#include <fmt/format.h>

#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/kernels/launches.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

constexpr std::size_t kChosen = GatherGemvWorkload::kChosen;
constexpr std::size_t kPairs = GatherGemvWorkload::kExperts / kChosen;

std::vector<std::int64_t> pairs() {
  std::vector<std::int64_t> all;
  for (std::size_t i = 0; i < kPairs; ++i) {
    for (const std::size_t expert : GatherGemvWorkload::pair(i)) {
      all.push_back(static_cast<std::int64_t>(expert));
    }
  }
  return all;
}

/// `apart`: distance of a pair, in matrices.
PeerMatrices peer_matrices(const GatherGemvWorkload& inputs, const DeviceCopies& experts) {
  PeerMatrices matrices{inputs.dtype, inputs.size, inputs.size, kChosen, {}, {}, nullptr, nullptr};
  for (std::size_t turn = 0; turn < inputs.experts.copies() * kPairs; ++turn) {
    const GatherGemvWorkload::Pair& pair = GatherGemvWorkload::pair(turn);
    matrices.first.push_back(experts.copy(turn / kPairs) + pair[0] * inputs.matrix_bytes());
    matrices.apart.push_back(static_cast<std::int64_t>(pair[1] - pair[0]));
  }
  return matrices;
}

constexpr const char* kAfterPrevious = "second launch behind the first";
constexpr const char* kEarly = "second launch early";
constexpr const char* kBothEarly = "both launches early";

/// Inputs of one layer, and its result before the LayerNorm.
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
  Start first = Start::kAfterPrevious, second = Start::kAfterPrevious;
};

Starts starts_of(State& state, const Device& device) {
  Starts starts;
  if (state.variant() == kBothEarly) starts.first = Start::kEarly;
  if (state.variant() == kEarly || state.variant() == kBothEarly) starts.second = Start::kEarly;
  require_start(state, device, starts.second);
  state.note("variant", state.variant().empty() ? kAfterPrevious : state.variant());
  return starts;
}

void measure(State& state, Device& device, const MlpWorkload& inputs, DeviceBuffer& y, Tolerance tolerance,
             const Launch& launch) {
  verify_on_device<Bf16>(state, device, launch, y, inputs.expected, tolerance);
  measure_on_device(state, device, launch);
}

}  // namespace

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

void gather_gemv(State& state) {
  const auto device = device_of(state);
  const auto inputs = gather_gemv_workload(state, fresh_threads(state.threads()));
  const std::uint32_t size = device_size(state, inputs->size, "rows");
  const std::uint32_t outputs = device_size(state, kChosen * inputs->size, "rows");
  const auto experts = shared_copies(
      state, fmt::format("gather_gemv D={} dtype={}", inputs->size, inputs->dtype), inputs->experts);
  const DeviceBuffer x = uploaded(state, inputs->x);
  const DeviceBuffer chosen = uploaded(state, pairs());
  DeviceBuffer y(state, inputs->expected.size() * sizeof(Bf16));

  Launch launch;
  if (state.backend() == "cuda") {
    const GemvPlan plan = noted(state, *device,
                                gemv_plan(outputs, size * item_bytes(inputs->dtype),
                                          static_cast<unsigned>(device->multiprocessors()), state.variant()));
    launch = [=, &inputs = *inputs, &experts = *experts, pairs = chosen.as<const std::int64_t>(),
              from = x.as<std::uint16_t>(),
              to = y.as<std::uint16_t>()](std::size_t turn, cudaStream_t stream) {
      const std::size_t copy = turn / kPairs;
      const GemvMatrix matrix{
          experts.copy(copy), experts.end(copy), pairs + kChosen * (turn % kPairs), size, size, outputs};
      launch_gemv({matrix, from, to}, inputs.dtype, plan, stream);
    };
  } else {
    PeerMatrices matrices = peer_matrices(*inputs, *experts);
    matrices.x = x.data();
    matrices.y = y.data();
    launch = peer_launch(state, *device, matrices);
  }
  verify_on_device<Bf16>(state, *device, launch, y, inputs->expected, GatherGemvWorkload::kTolerance);
  measure_on_device(state, *device, launch);
}

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

std::vector<std::string> mlp_variants() {
  return {kAfterPrevious, kEarly, kBothEarly};
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
