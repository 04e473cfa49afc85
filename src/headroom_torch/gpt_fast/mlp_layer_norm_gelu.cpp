// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gpt_fast/mlp_layer_norm_gelu.h"

#include "headroom/workload/mlp_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_torch/tensors/sum_precision.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

/// Twice in a row ATen rounds to bf16 what linear gives and what LayerNorm multiplies with: each costs up to
/// 2^-9 of a value that gamma then multiplies, and what the first layer lost is spread by the second.
constexpr Tolerance kMlpTolerance{.relative = 12 * 0x1p-8};

struct Layer {
  std::vector<at::Tensor> weights;
  at::Tensor bias, gamma, beta;

  Layer(const MlpWorkload::Layer& layer, std::size_t inputs, const Place& place)
      : weights(placed_copies(layer.weights,
                              {static_cast<std::int64_t>(layer.outputs()), static_cast<std::int64_t>(inputs)},
                              at::kBFloat16, place)),
        bias(placed(view_of(layer.bias), place)),
        gamma(placed(view_of(layer.gamma), place)),
        beta(placed(view_of(layer.beta), place)) {}

  at::Tensor operator()(std::size_t copy, const at::Tensor& x) const {
    return at::layer_norm(at::linear(x, weights[copy], bias), bias.sizes(), gamma, beta, kNormEpsilon);
  }
};

/// linear as addmv, into outputs that were made before.
struct LayerOut {
  Layer layer;
  at::Tensor sums, mean, reciprocal, y;

  LayerOut(Layer from, const Place& place)
      : layer(std::move(from)),
        sums(at::zeros_like(layer.bias)),
        mean(zeros_at(place, {1})),
        reciprocal(zeros_at(place, {1})),
        y(at::zeros_like(layer.bias)) {}

  at::Tensor& operator()(std::size_t copy, const at::Tensor& x) {
    at::addmv_out(sums, layer.bias, layer.weights[copy], x);
    at::native_layer_norm_out(y, mean, reciprocal, sums, layer.bias.sizes(), layer.gamma, layer.beta,
                              kNormEpsilon);
    return y;
  }
};

/// The coarser of what the two layers' linear adds in.
Precision precision_of(const MlpWorkload& inputs, bool in_place, const Place& place) {
  const auto product = [&](const at::Tensor& weights, const at::Tensor& x) {
    const at::Tensor bias = zeros_at(place, {weights.size(0)});
    if (!in_place) return at::linear(x, weights, bias);
    at::Tensor sums = at::zeros_like(bias);
    return at::addmv_out(sums, bias, weights, x);
  };
  const auto size = static_cast<std::int64_t>(inputs.x.size());
  const auto hidden = static_cast<std::int64_t>(inputs.up.outputs());
  return std::min(precision_of_sums(product, {hidden, size}, place),
                  precision_of_sums(product, {size, hidden}, place));
}

}  // namespace

void mlp_layer_norm_gelu(State& state, const Place& place) {
  use_threads_of(state);
  const auto inputs = mlp_workload(state, fresh_threads(state.threads()));
  const Layer up(inputs->up, inputs->x.size(), place);
  const Layer down(inputs->down, inputs->up.outputs(), place);
  const at::Tensor x = placed(view_of(inputs->x), place);
  const Precision precision = precision_of(*inputs, writes_in_place(state), place);
  const Tolerance tolerance = product_tolerance(
      kMlpTolerance, place, precision, {inputs->x.size(), inputs->up.outputs()}, inputs->expected.size());
  if (!writes_in_place(state)) {
    verify_and_measure(state, place, inputs->expected, tolerance,
                       [&](std::size_t copy) { return down(copy, up(copy, x)); });
    return;
  }
  LayerOut up_out(up, place), down_out(down, place);
  verify_and_measure(state, place, inputs->expected, tolerance,
                     [&](std::size_t copy) -> at::Tensor& { return down_out(copy, up_out(copy, x)); });
}

}  // namespace headroom::torch_runner
