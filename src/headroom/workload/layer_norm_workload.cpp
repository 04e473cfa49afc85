// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/layer_norm_workload.h"

#include <fmt/format.h>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/oracle.h"

namespace headroom {
namespace {

void fill_parameters(std::vector<float>& values, std::uint64_t seed) {
  fill_random(std::span(values), seed);
  for (float& value : values) value = to_float(to_bf16(value));
}

std::shared_ptr<LayerNormWorkload> make_layer_norm(State& state, std::size_t rows, std::size_t columns,
                                                   std::size_t copies, const Team& team) {
  const std::size_t bytes = bytes_of(rows, columns, sizeof(Bf16));
  // Verifying takes a double for each value, once.
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

}  // namespace

std::vector<double> LayerNormWorkload::expected(const Team& team) const {
  return exact_layer_norm(team, x.first<Bf16>(), as_doubles(gamma), as_doubles(beta));
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

}  // namespace headroom
