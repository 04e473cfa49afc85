// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gemv.h"

#include "headroom/workload/gemv_workload.h"
#include "headroom_torch/tensors.h"

namespace headroom::torch_runner {

void gemv(State& state) {
  use_threads_of(state);
  const auto inputs = gemv_workload(state, fresh_threads(state.threads()));
  const auto size = static_cast<std::int64_t>(inputs->size);
  const auto weights = views_of(inputs->weights, {size, size}, weight_type(inputs->dtype));
  const at::Tensor x = view_of(inputs->x);
  if (state.backend() == "aten") {
    verify_and_measure(state, inputs->expected, GemvWorkload::kTolerance,
                       [&](std::size_t copy) { return at::matmul(weights[copy].to(at::kBFloat16), x); });
    return;
  }
  at::Tensor y = at::zeros({size}, at::kBFloat16);
  at::Tensor converted = inputs->dtype == "int8" ? at::zeros({size, size}, at::kBFloat16) : at::Tensor();
  verify_and_measure(state, inputs->expected, GemvWorkload::kTolerance, [&](std::size_t copy) -> at::Tensor& {
    if (converted.defined()) return at::mv_out(y, converted.copy_(weights[copy]), x);
    return at::mv_out(y, weights[copy], x);
  });
}

}  // namespace headroom::torch_runner
