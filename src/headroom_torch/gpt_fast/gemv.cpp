// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gpt_fast/gemv.h"

#include "headroom/workload/gemv_workload.h"
#include "headroom_torch/tensors/sum_precision.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

Tolerance tolerance_of(const GemvWorkload& inputs, bool in_place, const Place& place) {
  const auto size = static_cast<std::int64_t>(inputs.size);
  const auto product = [&](const at::Tensor& weights, const at::Tensor& x) {
    if (!in_place) return at::matmul(weights, x);
    at::Tensor y = zeros_at(place, {weights.size(0)});
    return at::mv_out(y, weights, x);
  };
  return product_tolerance(GemvWorkload::kTolerance, place, precision_of_sums(product, {size, size}, place),
                           {inputs.size}, inputs.size);
}

}  // namespace

void gemv(State& state, const Place& place) {
  use_threads_of(state);
  const auto inputs = gemv_workload(state, fresh_threads(state.threads()));
  const auto size = static_cast<std::int64_t>(inputs->size);
  const auto weights = placed_copies(inputs->weights, {size, size}, weight_type(inputs->dtype), place);
  const at::Tensor x = placed(view_of(inputs->x), place);
  const Tolerance tolerance = tolerance_of(*inputs, writes_in_place(state), place);
  if (!writes_in_place(state)) {
    verify_and_measure(state, place, inputs->expected, tolerance,
                       [&](std::size_t copy) { return at::matmul(weights[copy].to(at::kBFloat16), x); });
    return;
  }
  at::Tensor y = zeros_at(place, {size});
  at::Tensor converted = inputs->dtype == "int8" ? zeros_at(place, {size, size}) : at::Tensor();
  verify_and_measure(state, place, inputs->expected, tolerance, [&](std::size_t copy) -> at::Tensor& {
    if (converted.defined()) return at::mv_out(y, converted.copy_(weights[copy]), x);
    return at::mv_out(y, weights[copy], x);
  });
}

}  // namespace headroom::torch_runner
