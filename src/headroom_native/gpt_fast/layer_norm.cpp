// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gpt_fast/layer_norm.h"

#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/norm_kernel.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/kernels/reference_kernels.h"
#include "headroom_native/kernels/tuning.h"
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

void measure(State& state, LayerNormWorkload& inputs, ThreadPool& pool, const auto& body) {
  state.verify([&] { body(0); }, inputs.y.first<Bf16>(), inputs.expected(team_of(pool)),
               LayerNormWorkload::kTolerance);
  state.measure(body);
}

void measure_reference(State& state, LayerNormWorkload& inputs, ThreadPool& pool) {
  state.note("isa", "plain loops");
  const std::size_t columns = inputs.columns;
  std::vector<float> row(columns);
  measure(state, inputs, pool, [&](std::size_t copy) {
    const auto* x = reinterpret_cast<const Bf16*>(inputs.x.copy(copy));
    auto* y = reinterpret_cast<Bf16*>(inputs.y.copy(copy));
    for (std::size_t index = 0; index < inputs.rows; ++index) {
      for (std::size_t k = 0; k < columns; ++k) row[k] = to_float(x[index * columns + k]);
      reference_layer_norm(row.data(), columns, inputs.gamma.data(), inputs.beta.data(), y + index * columns);
    }
  });
}

}  // namespace

void layer_norm(State& state) {
  const auto pool = shared_pool(state);
  const auto inputs = layer_norm_workload(state, team_of(*pool));
  if (measured_by_peer(state, *inputs, *pool)) return;
  if (state.backend() == "reference") {
    measure_reference(state, *inputs, *pool);
    return;
  }
  const std::size_t columns = inputs->columns;
  const NormKernel kernel = norm_kernel(chosen_isa());
  const NormWalk walk =
      norm_choice(state, 2 * inputs->bytes() / static_cast<std::size_t>(pool->workers())).walk;
  state.note("isa", kernel.isa);
  std::vector<Buffer> prepared;
  for (int worker = 0; worker < pool->workers(); ++worker) {
    prepared.emplace_back(prepared_norm_floats(columns) * sizeof(float));
  }
  measure(state, *inputs, *pool, [&](std::size_t copy) {
    pool->run([&](int worker, int workers) {
      const Slice part = slice_of(inputs->rows, worker, workers);
      const std::size_t first = part.begin * columns;
      auto* parameters = prepared[static_cast<std::size_t>(worker)].as<float>().data();
      kernel.prepare(inputs->gamma.data(), inputs->beta.data(), columns, parameters);
      kernel.rows(reinterpret_cast<const Bf16*>(inputs->x.copy(copy)) + first, part.size(), columns,
                  parameters, walk, reinterpret_cast<Bf16*>(inputs->y.copy(copy)) + first);
    });
  });
}

}  // namespace headroom::native
