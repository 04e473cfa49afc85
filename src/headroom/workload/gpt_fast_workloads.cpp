// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/gpt_fast_workloads.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom/workload/oracle.h"

namespace headroom {
namespace {

template <typename Workload>
std::shared_ptr<Workload> make_product(State& state, const std::string& dtype, std::size_t size,
                                       std::size_t copies, const Team& team) {
  const std::size_t bytes = bytes_of(Workload::kExperts, size, size, item_bytes(dtype));
  state.require_memory(bytes_of(InputCopies::stride_of(bytes), copies));
  auto made = std::make_shared<Workload>(
      Workload{size, dtype, InputCopies(bytes, copies), std::vector<Bf16>(size), {}});
  fill_random(std::span(made->x), state.seed() + 1);
  if (dtype == "bf16") {
    fill_random(made->weights.template first<Bf16>(), state.seed());
  } else {
    fill_random(made->weights.template first<std::int8_t>(), state.seed());
  }
  const std::vector<double> x = to_doubles(made->x);
  for (std::size_t chosen = 0; chosen < Workload::kChosen; ++chosen) {
    const std::vector<double> part = exact_gemv(team, dtype, made->matrix(0, chosen), size, x);
    made->expected.insert(made->expected.end(), part.begin(), part.end());
  }
  made->weights.spread(team);
  return made;
}

template <typename Workload>
std::shared_ptr<const Workload> product_workload(State& state, const Team& team, const char* name) {
  const std::size_t size = size_axis(state, "D");
  const std::string dtype = state.text("dtype");
  const std::size_t matrix_bytes = bytes_of(size, size, item_bytes(dtype));
  state.require_memory(bytes_of(Workload::kExperts, matrix_bytes));
  const std::size_t chosen_bytes = bytes_of(Workload::kChosen, matrix_bytes);
  const std::size_t turns = state.rotate(InputCopies::stride_of(chosen_bytes));
  const std::size_t copies = (turns + Workload::kPairs - 1) / Workload::kPairs;
  const auto d = static_cast<double>(size);
  state.work({.flops = 2 * Workload::kChosen * d * d,
              .bytes = static_cast<double>(chosen_bytes),
              .dtype = dtype_of_peak(dtype)});
  const std::string experts = Workload::kExperts == 1 ? "" : fmt::format("{},", Workload::kExperts);
  state.input("W", fmt::format("{}[{}{},{}] {}", dtype, experts, size, size,
                               dtype == "bf16" ? "normal(0,1)" : "uniform[-127,127]"));
  state.input("x", fmt::format("bf16[{}] normal(0,1)", size));
  return state.shared<Workload>(
      fmt::format("{} D={} dtype={} seed={} copies={}", name, size, dtype, state.seed(), copies),
      [&] { return make_product<Workload>(state, dtype, size, copies, team); });
}

void fill_parameters(std::vector<float>& values, std::uint64_t seed) {
  fill_random(std::span(values), seed);
  for (float& value : values) value = to_float(to_bf16(value));
}

std::shared_ptr<LayerNormWorkload> make_layer_norm(State& state, std::size_t rows, std::size_t columns,
                                                   std::size_t copies, const Team& team) {
  const std::size_t bytes = bytes_of(rows, columns, sizeof(Bf16));
  // Verifying takes a double per value.
  const std::size_t doubles = bytes_of(rows, columns, sizeof(double));
  state.require_memory(bytes_of(2, InputCopies::stride_of(bytes), copies) + doubles);
  auto made = std::make_shared<LayerNormWorkload>(
      LayerNormWorkload{rows, columns, InputCopies(bytes, copies), InputCopies(bytes, copies),
                        std::vector<float>(columns), std::vector<float>(columns)});
  fill_random(made->x.first<Bf16>(), state.seed());
  fill_parameters(made->gamma, state.seed() + 1);
  fill_parameters(made->beta, state.seed() + 2);
  made->x.spread(team);
  return made;
}

void describe_layer_norm(State& state, std::size_t rows, std::size_t columns) {
  const double bytes = static_cast<double>(rows) * static_cast<double>(columns) * sizeof(Bf16);
  state.work({.bytes = 2 * bytes, .bytes_written = bytes});
  state.input("x", fmt::format("bf16[{},{}] normal(0,1)", rows, columns));
  state.input("gamma", fmt::format("f32[{}] normal(0,1)", columns));
  state.input("beta", fmt::format("f32[{}] normal(0,1)", columns));
}

std::vector<double> exact_layer(const Team& team, const MlpWorkload::Layer& layer,
                                std::span<const double> x) {
  const std::vector<double> linear =
      exact_gemv(team, "bf16", layer.weights.copy(0), layer.outputs(), x, to_doubles(layer.bias));
  return exact_layer_norm(linear, to_doubles(layer.gamma), to_doubles(layer.beta));
}

std::vector<double> exact_mlp(const Team& team, const MlpWorkload& mlp) {
  std::vector<double> hidden = exact_layer(team, mlp.up, to_doubles(mlp.x));
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

template <>
const GemvWorkload::Pair& GemvWorkload::pair(std::size_t /*turn*/) {
  static constexpr Pair kOnly{0};
  return kOnly;
}

/// The verified pair, the only one with hot caches, comes first.
template <>
const GatherGemvWorkload::Pair& GatherGemvWorkload::pair(std::size_t turn) {
  static constexpr std::array<Pair, kPairs> kAll{{{3, 5}, {0, 1}, {2, 4}, {6, 7}}};
  return kAll[turn % kPairs];
}

std::shared_ptr<const GemvWorkload> gemv_workload(State& state, const Team& team) {
  return product_workload<GemvWorkload>(state, team, "gemv");
}

std::shared_ptr<const GatherGemvWorkload> gather_gemv_workload(State& state, const Team& team) {
  state.input("score_idxs", "int64[2] 3, 5");
  return product_workload<GatherGemvWorkload>(state, team, "gather_gemv");
}

std::vector<double> LayerNormWorkload::expected(const Team& team) const {
  return exact_layer_norm(team, x.first<Bf16>(), to_doubles(gamma), to_doubles(beta));
}

std::shared_ptr<LayerNormWorkload> layer_norm_workload(State& state, const Team& team) {
  const std::size_t rows = size_axis(state, "BS");
  const std::size_t columns = size_axis(state, "D");
  const std::size_t bytes = bytes_of(rows, columns, sizeof(Bf16));
  state.require_memory(bytes);
  const std::size_t copies = state.rotate(2 * InputCopies::stride_of(bytes));
  describe_layer_norm(state, rows, columns);
  return state.shared<LayerNormWorkload>(
      fmt::format("layer_norm BS={} D={} seed={} copies={}", rows, columns, state.seed(), copies),
      [&] { return make_layer_norm(state, rows, columns, copies, team); });
}

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

void add_seed_experiments(Registry& registry, const SeedExperiments& runner, const std::string& device) {
  constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";
  const std::initializer_list<long long> sizes{1024, 4096, 8192, 16384};
  const auto add = [&](const char* name, const SeedExperiment& of, const char* summary,
                       const char* metric) -> Experiment& {
    Experiment& added = registry.add(name, of.run).summary(summary).axis("D", sizes).metric(metric);
    added.backends(of.backends).device(device);
    for (const auto& [backend, names] : of.variants) added.variants(backend, names);
    return added;
  };
  if (runner.gemv.run != nullptr) {
    add("gemv", runner.gemv, "matrix times vector: y = W.to(bf16) @ x, W[D,D]", kBandwidth)
        .axis("dtype", {"int8", "bf16"});
  }
  if (runner.gather_gemv.run != nullptr) {
    add("gather_gemv", runner.gather_gemv,
        "two of eight matrices times a vector: y = W[[3,5]].to(bf16) @ x, W[8,D,D]", kBandwidth)
        .axis("dtype", {"int8", "bf16"});
  }
  if (runner.layer_norm.run != nullptr) {
    add("layer_norm", runner.layer_norm, "LayerNorm over the rows of x[BS,D]", kBandwidth)
        .axis("BS", {4096})
        .axis("dtype", {"bf16"});
  }
  if (runner.mlp_layer_norm_gelu.run != nullptr) {
    add("mlp_layer_norm_gelu", runner.mlp_layer_norm_gelu,
        "Linear, LayerNorm, Linear, LayerNorm of one vector of D, with `hidden` in between",
        "flops_utilization")
        .axis("hidden", {14336})
        .axis("dtype", {"bf16"});
  }
}

}  // namespace headroom
