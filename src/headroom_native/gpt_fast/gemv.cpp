// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gpt_fast/gemv.h"

#include "headroom/workload/gemv_workload.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/kernels/reference_kernels.h"
#include "headroom_native/kernels/split_gemv.h"
#include "headroom_native/kernels/tuning.h"
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

void measure(State& state, std::vector<Bf16>& y, const std::vector<float>& sums, const GemvWorkload& inputs,
             const auto& body) {
  state.verify([&] { body(0); }, std::span(y), inputs.expected, GemvWorkload::kTolerance);
  state.note("error of sums", error_of_sums(sums, inputs.expected));
  state.measure(body);
}

void measure_reference(State& state, const GemvWorkload& inputs) {
  const std::size_t size = inputs.size;
  std::vector<Bf16> y(size);
  std::vector<float> sums(size);
  state.note("isa", "plain loops");
  measure(state, y, sums, inputs, [&](std::size_t copy) {
    reference_gemv(inputs.dtype, inputs.weights.copy(copy), size, size, inputs.x.data(), sums.data());
    round_to_bf16(sums.data(), {0, size}, y.data());
  });
}

}  // namespace

void gemv(State& state) {
  const auto pool = shared_pool(state);
  const auto inputs = gemv_workload(state, team_of(*pool));
  if (measured_by_peer(state, *inputs, *pool)) return;
  if (state.backend() == "reference") {
    measure_reference(state, *inputs);
    return;
  }
  const std::size_t size = inputs->size;
  const Isa isa = chosen_isa();
  const bool strict = state.backend() == "native_strict";
  const std::size_t share = inputs->weight_bytes() / static_cast<std::size_t>(pool->workers());
  const GemvChoice choice = gemv_choice(state, share, inputs->dtype, isa);
  SplitGemv kernel(gemv_kernel(inputs->dtype, isa, strict ? GemvForm::kStrict : choice.form), pool->workers(),
                   size, choice.walk);
  state.note("isa", kernel.isa());
  std::vector<Bf16> y(size);
  std::vector<float> sums(size);
  const std::size_t row_bytes = size * item_bytes(inputs->dtype);
  measure(state, y, sums, *inputs, [&](std::size_t copy) {
    const auto share_of_rows = [&](int worker, int workers) {
      const Slice rows = slice_of(size, worker, workers);
      kernel.prepare(worker, inputs->x.data());
      kernel.multiply(worker, inputs->weights.copy(copy), row_bytes, rows, sums.data());
      kernel.round(sums.data(), rows, y.data());
    };
    if (choice.one_thread) return pool->run_alone(share_of_rows);
    pool->run(share_of_rows);
  });
}

}  // namespace headroom::native
