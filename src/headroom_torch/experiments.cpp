// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/experiments.h"

#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/llm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_torch/calls/op_recorder.h"
#include "headroom_torch/llm/aten_decoder.h"
#include "headroom_torch/modules/modules.h"
#include "headroom_torch/tensors/libtorch.h"
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

/// The seed's W and score_idxs.
struct Rotation {
  at::Tensor experts;
  at::Tensor chosen;
};

std::vector<Rotation> rotations(const GatherGemvWorkload& inputs, const Place& place) {
  constexpr std::size_t kPairs = GatherGemvWorkload::kPairs;
  const auto size = static_cast<std::int64_t>(inputs.size);
  const auto experts = static_cast<std::int64_t>(GatherGemvWorkload::kExperts);
  const std::vector<at::Tensor> stacks =
      placed_copies(inputs.weights, {experts, size, size}, weight_type(inputs.dtype), place);
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

/// For a bf16 x, ATen rounds mean, reciprocal deviation and their products to bf16, each up to 2^-9 times
/// gamma.
constexpr Tolerance kNormTolerance{.relative = 8 * 0x1p-8};

/// ATen rounds to bf16 after linear and in LayerNorm, each up to 2^-9 before gamma; the second layer spreads
/// the first's error.
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

/// y = W.to(bf16) @ x (GemvWorkload). Converts int8 weights in each call, as the seed's eager code.
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

/// y = W[[3,5]].to(bf16) @ x (GatherGemvWorkload).
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

/// at::layer_norm over the rows of x (LayerNormWorkload). gamma and beta are bf16: every version accepts that
/// with a bf16 x.
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

/// Linear, LayerNorm, twice (MlpWorkload); the tolerance covers ATen's rounding.
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

}  // namespace

SeedExperiments placed_experiments(const std::function<Experiment::Function(PlacedExperiment)>& at) {
  return {.gemv = {at(gemv), {}},
          .gather_gemv = {at(gather_gemv), {}},
          .layer_norm = {at(layer_norm), {}},
          .mlp_layer_norm_gelu = {at(mlp_layer_norm_gelu), {}}};
}

void register_torch_experiments(Registry& registry) {
  const std::vector<std::string> backends{"aten", "aten_out"};
  SeedExperiments experiments =
      placed_experiments([](PlacedExperiment run) { return [run](State& state) { run(state, Place{}); }; });
  for (SeedExperiment* one : {&experiments.gemv, &experiments.gather_gemv, &experiments.layer_norm,
                              &experiments.mlp_layer_norm_gelu}) {
    one->backends = backends;
  }
  add_seed_experiments(registry, experiments);
  add_llm_experiments(registry, llm_decode, {"aten", "aten_out"});
  registry.describe_blas_with(torch_blas);
  registry.take_arguments_with(register_modules);
  registry.trace_with(trace::record_call<OpRecorder>);
}

}  // namespace headroom::torch_runner
