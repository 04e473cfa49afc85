// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gather_gemv.h"

#include "headroom/workload/gather_gemv_workload.h"
#include "headroom_torch/tensors.h"

namespace headroom::torch_runner {
namespace {

/// W and score_idxs of each rotation.
struct Rotation {
  at::Tensor experts;
  at::Tensor chosen;
};

std::vector<Rotation> rotations(const GatherGemvWorkload& inputs, std::size_t count) {
  const auto size = static_cast<std::int64_t>(inputs.size);
  const auto experts = static_cast<std::int64_t>(GatherGemvWorkload::kExperts);
  std::vector<Rotation> found;
  for (std::size_t copy = 0; copy < count; ++copy) {
    const GatherGemvWorkload::Pair& pair = GatherGemvWorkload::pair(copy);
    found.push_back(
        {view_of(inputs.stack(copy), {experts, size, size}, weight_type(inputs.dtype)),
         at::tensor({static_cast<std::int64_t>(pair[0]), static_cast<std::int64_t>(pair[1])}, at::kLong)});
  }
  return found;
}

}  // namespace

void gather_gemv(State& state) {
  use_threads_of(state);
  const auto inputs = gather_gemv_workload(state, fresh_threads(state.threads()));
  const std::vector<Rotation> turns = rotations(
      *inputs, inputs->experts.copies() * GatherGemvWorkload::kExperts / GatherGemvWorkload::kChosen);
  const at::Tensor x = view_of(inputs->x);
  if (state.backend() == "aten") {
    verify_and_measure(state, inputs->expected, GatherGemvWorkload::kTolerance, [&](std::size_t copy) {
      const Rotation& turn = turns[copy];
      return at::matmul(turn.experts.index_select(0, turn.chosen).to(at::kBFloat16), x);
    });
    return;
  }
  const auto size = static_cast<std::int64_t>(inputs->size);
  at::Tensor y = at::zeros({2, size}, at::kBFloat16);
  at::Tensor gathered = at::zeros({2, size, size}, weight_type(inputs->dtype));
  at::Tensor converted = inputs->dtype == "int8" ? at::zeros({2, size, size}, at::kBFloat16) : gathered;
  verify_and_measure(state, inputs->expected, GatherGemvWorkload::kTolerance,
                     [&](std::size_t copy) -> at::Tensor& {
                       const Rotation& turn = turns[copy];
                       at::index_select_out(gathered, turn.experts, 0, turn.chosen);
                       if (inputs->dtype == "int8") converted.copy_(gathered);
                       return at::matmul_out(y, converted, x);
                     });
}

}  // namespace headroom::torch_runner
