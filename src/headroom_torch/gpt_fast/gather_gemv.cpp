// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/gpt_fast/gather_gemv.h"

#include "headroom/workload/gather_gemv_workload.h"
#include "headroom_torch/tensors/sum_precision.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

/// W and score_idxs of each rotation.
struct Rotation {
  at::Tensor experts;
  at::Tensor chosen;
};

/// As many for each copy of the experts as there are pairs of them.
std::vector<Rotation> rotations(const GatherGemvWorkload& inputs, const Place& place) {
  constexpr std::size_t kPairs = GatherGemvWorkload::kExperts / GatherGemvWorkload::kChosen;
  const auto size = static_cast<std::int64_t>(inputs.size);
  const auto experts = static_cast<std::int64_t>(GatherGemvWorkload::kExperts);
  const std::vector<at::Tensor> stacks =
      placed_copies(inputs.experts, {experts, size, size}, weight_type(inputs.dtype), place);
  std::vector<Rotation> found;
  for (std::size_t turn = 0; turn < stacks.size() * kPairs; ++turn) {
    const GatherGemvWorkload::Pair& pair = GatherGemvWorkload::pair(turn);
    const at::Tensor chosen =
        at::tensor({static_cast<std::int64_t>(pair[0]), static_cast<std::int64_t>(pair[1])}, at::kLong);
    found.push_back({stacks[turn / kPairs], placed(chosen, place)});
  }
  return found;
}

Tolerance tolerance_of(const GatherGemvWorkload& inputs, bool in_place, const Place& place) {
  const auto size = static_cast<std::int64_t>(inputs.size);
  constexpr std::int64_t kChosen = GatherGemvWorkload::kChosen;
  const auto product = [&](const at::Tensor& weights, const at::Tensor& x) {
    if (!in_place) return at::matmul(weights, x);
    at::Tensor y = zeros_at(place, {kChosen, weights.size(1)});
    return at::matmul_out(y, weights, x);
  };
  return product_tolerance(GatherGemvWorkload::kTolerance, place,
                           precision_of_sums(product, {kChosen, size, size}, place), {inputs.size},
                           inputs.expected.size());
}

}  // namespace

void gather_gemv(State& state, const Place& place) {
  use_threads_of(state);
  const auto inputs = gather_gemv_workload(state, fresh_threads(state.threads()));
  const std::vector<Rotation> turns = rotations(*inputs, place);
  const at::Tensor x = placed(view_of(inputs->x), place);
  const Tolerance tolerance = tolerance_of(*inputs, writes_in_place(state), place);
  if (!writes_in_place(state)) {
    verify_and_measure(state, place, inputs->expected, tolerance, [&](std::size_t copy) {
      const Rotation& turn = turns[copy];
      return at::matmul(turn.experts.index_select(0, turn.chosen).to(at::kBFloat16), x);
    });
    return;
  }
  const auto size = static_cast<std::int64_t>(inputs->size);
  at::Tensor y = zeros_at(place, {2, size});
  at::Tensor gathered = zeros_at(place, {2, size, size}, weight_type(inputs->dtype));
  at::Tensor converted = inputs->dtype == "int8" ? zeros_at(place, {2, size, size}) : gathered;
  verify_and_measure(state, place, inputs->expected, tolerance, [&](std::size_t copy) -> at::Tensor& {
    const Rotation& turn = turns[copy];
    at::index_select_out(gathered, turn.experts, 0, turn.chosen);
    if (inputs->dtype == "int8") converted.copy_(gathered);
    return at::matmul_out(y, converted, x);
  });
}

}  // namespace headroom::torch_runner
