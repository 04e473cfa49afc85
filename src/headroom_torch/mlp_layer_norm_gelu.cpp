// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/mlp_layer_norm_gelu.h"

#include "headroom/workload/mlp_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_torch/tensors.h"

namespace headroom::torch_runner {
namespace {

/// Twice in a row ATen rounds to bf16 what linear gives and what LayerNorm multiplies with: each costs up to
/// 2^-9 of a value that gamma then multiplies, and what the first layer lost is spread by the second.
constexpr Tolerance kTolerance{.relative = 12 * 0x1p-8};

struct Layer {
  std::vector<at::Tensor> weights;
  at::Tensor bias, gamma, beta;

  explicit Layer(const MlpWorkload::Layer& layer, std::size_t inputs)
      : weights(views_of(layer.weights,
                         {static_cast<std::int64_t>(layer.outputs()), static_cast<std::int64_t>(inputs)},
                         at::kBFloat16)),
        bias(view_of(layer.bias)),
        gamma(view_of(layer.gamma)),
        beta(view_of(layer.beta)) {}

  at::Tensor operator()(std::size_t copy, const at::Tensor& x) const {
    return at::layer_norm(at::linear(x, weights[copy], bias), bias.sizes(), gamma, beta, kNormEpsilon);
  }
};

/// linear as addmv, into outputs that were made before.
struct LayerOut {
  Layer layer;
  at::Tensor sums, mean, reciprocal, y;

  explicit LayerOut(Layer from)
      : layer(std::move(from)),
        sums(at::zeros_like(layer.bias)),
        mean(at::zeros({1}, at::kBFloat16)),
        reciprocal(at::zeros({1}, at::kBFloat16)),
        y(at::zeros_like(layer.bias)) {}

  at::Tensor& operator()(std::size_t copy, const at::Tensor& x) {
    at::addmv_out(sums, layer.bias, layer.weights[copy], x);
    at::native_layer_norm_out(y, mean, reciprocal, sums, layer.bias.sizes(), layer.gamma, layer.beta,
                              kNormEpsilon);
    return y;
  }
};

}  // namespace

void mlp_layer_norm_gelu(State& state) {
  use_threads_of(state);
  const auto inputs = mlp_workload(state, fresh_threads(state.threads()));
  const Layer up(inputs->up, inputs->x.size());
  const Layer down(inputs->down, inputs->up.outputs());
  const at::Tensor x = view_of(inputs->x);
  if (state.backend() == "aten") {
    verify_and_measure(state, inputs->expected, kTolerance,
                       [&](std::size_t copy) { return down(copy, up(copy, x)); });
    return;
  }
  LayerOut up_out(up), down_out(down);
  verify_and_measure(state, inputs->expected, kTolerance,
                     [&](std::size_t copy) -> at::Tensor& { return down_out(copy, up_out(copy, x)); });
}

}  // namespace headroom::torch_runner
