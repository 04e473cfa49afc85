// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gemv.h"

#include "headroom/workload/gemv_workload.h"
#include "headroom_torch/tensors.h"

namespace headroom::torch_runner {

void gemv(State& state, const Place& place) {
  use_threads_of(state);
  const auto inputs = gemv_workload(state, fresh_threads(state.threads()));
  const auto size = static_cast<std::int64_t>(inputs->size);
  const auto weights = placed_copies(inputs->weights, {size, size}, weight_type(inputs->dtype), place);
  const at::Tensor x = placed(view_of(inputs->x), place);
  const Tolerance tolerance = product_tolerance(GemvWorkload::kTolerance, place);
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
