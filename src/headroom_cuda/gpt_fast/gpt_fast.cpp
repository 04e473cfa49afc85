// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/gpt_fast/gpt_fast.h"

#include <fmt/format.h>

#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda/kernels/launches.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

/// The chosen matrices of each turn.
template <typename Workload>
std::vector<std::int64_t> choices() {
  std::vector<std::int64_t> all;
  for (std::size_t turn = 0; turn < Workload::kPairs; ++turn) {
    for (const std::size_t expert : Workload::pair(turn)) all.push_back(static_cast<std::int64_t>(expert));
  }
  return all;
}

template <typename Workload>
PeerMatrices peer_matrices(const Workload& inputs, const DeviceCopies& weights, const DeviceBuffer& x,
                           const DeviceBuffer& y) {
  PeerMatrices matrices{inputs.dtype, inputs.size, inputs.size, Workload::kChosen,
                        {},           {},          x.data(),    y.data()};
  for (std::size_t turn = 0; turn < inputs.turns(); ++turn) {
    const auto& pair = Workload::pair(turn);
    matrices.first.push_back(weights.copy(turn / Workload::kPairs) + pair.front() * inputs.matrix_bytes());
    if (Workload::kChosen > 1)
      matrices.apart.push_back(static_cast<std::int64_t>(pair.back() - pair.front()));
  }
  return matrices;
}

template <typename Workload>
void measure_product(State& state, Device& device, const Workload& inputs, const char* name) {
  constexpr std::size_t kChosen = Workload::kChosen, kPairs = Workload::kPairs;
  const std::uint32_t size = device_size(state, inputs.size, "rows");
  const std::uint32_t outputs = device_size(state, kChosen * inputs.size, "rows");
  const auto weights =
      shared_copies(state, fmt::format("{} D={} dtype={}", name, inputs.size, inputs.dtype), inputs.weights);
  const DeviceBuffer x = uploaded(state, inputs.x);
  const DeviceBuffer chosen = uploaded(state, choices<Workload>());
  DeviceBuffer y(state, inputs.expected.size() * sizeof(Bf16));

  Launch launch;
  if (state.backend() == "cuda") {
    const GemvPlan plan = noted(state, device,
                                gemv_plan(outputs, size * item_bytes(inputs.dtype),
                                          static_cast<unsigned>(device.multiprocessors()), state.variant()));
    launch = [=, &inputs, &weights = *weights, choices = chosen.as<const std::int64_t>(),
              from = x.as<std::uint16_t>(),
              to = y.as<std::uint16_t>()](std::size_t turn, cudaStream_t stream) {
      const std::size_t copy = turn / kPairs;
      const std::int64_t* const of_turn = kChosen > 1 ? choices + kChosen * (turn % kPairs) : nullptr;
      const GemvMatrix matrix{weights.copy(copy), weights.end(copy), of_turn, size, size, outputs};
      launch_gemv({matrix, from, to}, inputs.dtype, plan, stream);
    };
  } else {
    launch = peer_launch(state, device, peer_matrices(inputs, *weights, x, y));
  }
  verify_on_device<Bf16>(state, device, launch, y, inputs.expected, Workload::kTolerance);
  measure_on_device(state, device, launch);
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
  measure_product(state, *device, *gemv_workload(state, fresh_threads(state.threads())), "gemv");
}

void gather_gemv(State& state) {
  const auto device = device_of(state);
  measure_product(state, *device, *gather_gemv_workload(state, fresh_threads(state.threads())),
                  "gather_gemv");
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
