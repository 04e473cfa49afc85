// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/layer_norm.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom_native/input_copies.h"
#include "headroom_native/norm_kernel.h"
#include "headroom_native/oracle.h"
#include "headroom_native/reference_kernels.h"
#include "headroom_native/slice.h"

namespace headroom::native {
namespace {

/// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it; statistics in f32 add about 1e-5
/// of the root mean square.
constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

struct Problem {
  std::size_t rows;
  std::size_t columns;
  std::size_t bytes;  ///< of x, and of y
};

struct Inputs {
  InputCopies x;
  InputCopies y;  ///< each iteration writes where none has written lately, too
  std::vector<float> gamma;
  std::vector<float> beta;
};

std::shared_ptr<Inputs> make_inputs(State& state, const Problem& problem, std::size_t copies,
                                    ThreadPool& pool) {
  // Verifying takes a double for each value, once.
  const std::size_t doubles = bytes_of(problem.rows, problem.columns, sizeof(double));
  state.require_memory(bytes_of(2, InputCopies::stride_of(problem.bytes), copies) + doubles);
  auto inputs = std::make_shared<Inputs>(
      Inputs{InputCopies(problem.bytes, copies), InputCopies(problem.bytes, copies),
             std::vector<float>(problem.columns), std::vector<float>(problem.columns)});
  fill_random(inputs->x.first<Bf16>(), state.seed());
  fill_random(std::span(inputs->gamma), state.seed() + 1);
  fill_random(std::span(inputs->beta), state.seed() + 2);
  inputs->x.spread(pool);
  return inputs;
}

void measure(State& state, Inputs& inputs, ThreadPool& pool, const auto& body) {
  {
    const std::vector<double> expected =
        exact_layer_norm(pool, inputs.x.first<Bf16>(), as_doubles(inputs.gamma), as_doubles(inputs.beta));
    state.verify([&] { body(0); }, inputs.y.first<Bf16>(), expected, kTolerance);
  }
  state.measure(body);
}

void describe(State& state, const Problem& problem) {
  const auto bytes = static_cast<double>(problem.bytes);
  state.work({.bytes = 2 * bytes, .bytes_written = bytes});
  state.input("x", fmt::format("bf16[{},{}] normal(0,1)", problem.rows, problem.columns));
  state.input("gamma", fmt::format("f32[{}] normal(0,1)", problem.columns));
  state.input("beta", fmt::format("f32[{}] normal(0,1)", problem.columns));
}

void measure_reference(State& state, Inputs& inputs, const Problem& problem, ThreadPool& pool) {
  state.note("isa", "plain loops");
  std::vector<float> row(problem.columns);
  measure(state, inputs, pool, [&](std::size_t copy) {
    const auto* x = reinterpret_cast<const Bf16*>(inputs.x.copy(copy));
    auto* y = reinterpret_cast<Bf16*>(inputs.y.copy(copy));
    for (std::size_t index = 0; index < problem.rows; ++index) {
      for (std::size_t k = 0; k < problem.columns; ++k) row[k] = to_float(x[index * problem.columns + k]);
      reference_layer_norm(row.data(), problem.columns, inputs.gamma.data(), inputs.beta.data(),
                           y + index * problem.columns);
    }
  });
}

/// Around the caches unless a thread's share of x and y stays in its own ones: measured, plain stores lose
/// from some 4 MiB on, even where a shared last-level cache could hold the results.
Stores stores_for(const State& state, const Problem& problem, int workers) {
  constexpr std::size_t kOwnCaches = std::size_t{2} << 20;
  const bool stays =
      state.caches() == Caches::kHot && 2 * problem.bytes / static_cast<std::size_t>(workers) <= kOwnCaches;
  return stays ? Stores::kCached : Stores::kAroundCaches;
}

}  // namespace

void layer_norm(State& state) {
  const std::size_t rows = size_axis(state, "BS");
  const std::size_t columns = size_axis(state, "D");
  const Problem problem{rows, columns, bytes_of(rows, columns, sizeof(Bf16))};
  state.require_memory(problem.bytes);
  const std::size_t copies = state.rotate(2 * InputCopies::stride_of(problem.bytes));
  const auto pool = shared_pool(state);
  const auto inputs = state.shared<Inputs>(
      fmt::format("layer_norm BS={} D={} seed={} copies={}", rows, columns, state.seed(), copies),
      [&] { return make_inputs(state, problem, copies, *pool); });
  describe(state, problem);
  if (state.backend() == "reference") {
    measure_reference(state, *inputs, problem, *pool);
    return;
  }
  const NormKernel kernel = norm_kernel(chosen_isa());
  const Stores stores = stores_for(state, problem, pool->workers());
  state.note("isa", kernel.isa);
  std::vector<Buffer> prepared;
  for (int worker = 0; worker < pool->workers(); ++worker) {
    prepared.emplace_back(prepared_norm_floats(columns) * sizeof(float));
  }
  measure(state, *inputs, *pool, [&](std::size_t copy) {
    pool->run([&](int worker, int workers) {
      const Slice part = slice_of(rows, worker, workers);
      const std::size_t first = part.begin * columns;
      auto* parameters = prepared[static_cast<std::size_t>(worker)].as<float>().data();
      kernel.prepare(inputs->gamma.data(), inputs->beta.data(), columns, parameters);
      kernel.rows(reinterpret_cast<const Bf16*>(inputs->x.copy(copy)) + first, part.size(), columns,
                  parameters, stores, reinterpret_cast<Bf16*>(inputs->y.copy(copy)) + first);
    });
  });
}

}  // namespace headroom::native
