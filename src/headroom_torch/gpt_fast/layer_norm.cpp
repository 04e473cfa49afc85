// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gpt_fast/layer_norm.h"

#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

/// Besides rounding the result, ATen computes in bf16 where x is of bf16: mean, reciprocal deviation and the
/// products between them are each rounded to 2^-9 of what gamma multiplies.
constexpr Tolerance kNormTolerance{.relative = 8 * 0x1p-8};

}  // namespace

void layer_norm(State& state, const Place& place) {
  use_threads_of(state);
  const Team team = fresh_threads(state.threads());
  const auto inputs = layer_norm_workload(state, team);
  const auto rows = static_cast<std::int64_t>(inputs->rows);
  const auto columns = static_cast<std::int64_t>(inputs->columns);
  const auto x = placed_copies(inputs->x, {rows, columns}, at::kBFloat16, place);
  const at::Tensor gamma = placed(at::tensor(inputs->gamma).to(at::kBFloat16), place);
  const at::Tensor beta = placed(at::tensor(inputs->beta).to(at::kBFloat16), place);
  if (!writes_in_place(state)) {
    verify_and_measure(state, place, inputs->expected(team), kNormTolerance, [&](std::size_t copy) {
      return at::layer_norm(x[copy], {columns}, gamma, beta, kNormEpsilon);
    });
    return;
  }
  auto y = placed_copies(inputs->y, {rows, columns}, at::kBFloat16, place);
  at::Tensor mean = zeros_at(place, {rows, 1});
  at::Tensor reciprocal = zeros_at(place, {rows, 1});
  verify_and_measure(
      state, place, inputs->expected(team), kNormTolerance, [&](std::size_t copy) -> at::Tensor& {
        at::native_layer_norm_out(y[copy], mean, reciprocal, x[copy], {columns}, gamma, beta, kNormEpsilon);
        return y[copy];
      });
}

}  // namespace headroom::torch_runner
