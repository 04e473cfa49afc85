// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/mlp_workload.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom/workload/oracle.h"

namespace headroom {
namespace {

std::vector<double> exact_layer(const Team& team, const MlpWorkload::Layer& layer,
                                std::span<const double> x) {
  const std::vector<double> linear =
      exact_gemv(team, "bf16", layer.weights.copy(0), layer.outputs(), x, as_doubles(layer.bias));
  return exact_layer_norm(linear, as_doubles(layer.gamma), as_doubles(layer.beta));
}

std::vector<double> exact_mlp(const Team& team, const MlpWorkload& mlp) {
  std::vector<double> hidden = exact_layer(team, mlp.up, as_doubles(mlp.x));
  for (double& value : hidden) value = to_float(to_bf16(static_cast<float>(value)));
  return exact_layer(team, mlp.down, hidden);
}

std::shared_ptr<MlpWorkload> make_mlp(State& state, std::size_t size, std::size_t hidden, std::size_t copies,
                                      const Team& team) {
  const std::size_t layer_bytes = bytes_of(size, hidden, sizeof(Bf16));
  state.require_memory(bytes_of(2, InputCopies::stride_of(layer_bytes), copies));
  auto made = std::make_shared<MlpWorkload>(MlpWorkload{MlpWorkload::Layer(hidden, size, copies),
                                                        MlpWorkload::Layer(size, hidden, copies),
                                                        std::vector<Bf16>(size),
                                                        {}});
  fill_random(std::span(made->x), state.seed());
  made->up.fill(state.seed() + 1);
  made->down.fill(state.seed() + 5);
  made->expected = exact_mlp(team, *made);
  made->up.weights.spread(team);
  made->down.weights.spread(team);
  return made;
}

void describe_mlp(State& state, std::size_t size, std::size_t hidden) {
  const double weights = 2 * static_cast<double>(size) * static_cast<double>(hidden);
  state.work({.flops = 2 * weights, .bytes = weights * sizeof(Bf16), .dtype = "bf16"});
  state.input("x", fmt::format("bf16[{}] normal(0,1)", size));
  state.input("W1", fmt::format("bf16[{},{}] normal(0,1)", hidden, size));
  state.input("W2", fmt::format("bf16[{},{}] normal(0,1)", size, hidden));
  state.input("bias, gamma, beta", "bf16 normal(0,1)");
}

}  // namespace

MlpWorkload::Layer::Layer(std::size_t outputs, std::size_t inputs, std::size_t copies)
    : weights(bytes_of(outputs, inputs, sizeof(Bf16)), copies),
      bias(outputs),
      gamma(outputs),
      beta(outputs) {}

void MlpWorkload::Layer::fill(std::uint64_t seed) {
  fill_random(weights.first<Bf16>(), seed);
  fill_random(std::span(bias), seed + 1);
  fill_random(std::span(gamma), seed + 2);
  fill_random(std::span(beta), seed + 3);
}

std::shared_ptr<const MlpWorkload> mlp_workload(State& state, const Team& team) {
  const std::size_t size = size_axis(state, "D");
  const std::size_t hidden = size_axis(state, "hidden");
  const std::size_t bytes = bytes_of(2, size, hidden, sizeof(Bf16));
  state.require_memory(bytes);
  const std::size_t copies = state.rotate(InputCopies::stride_of(bytes));
  describe_mlp(state, size, hidden);
  return state.shared<MlpWorkload>(
      fmt::format("mlp D={} hidden={} seed={} copies={}", size, hidden, state.seed(), copies),
      [&] { return make_mlp(state, size, hidden, copies, team); });
}

}  // namespace headroom
