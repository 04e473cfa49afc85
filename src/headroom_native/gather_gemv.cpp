// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gather_gemv.h"

#include <fmt/format.h>

#include <array>

#include "headroom/experiment/random.h"
#include "headroom_native/input_copies.h"
#include "headroom_native/oracle.h"
#include "headroom_native/reference_kernels.h"
#include "headroom_native/split_gemv.h"

namespace headroom::native {
namespace {

constexpr std::size_t kExperts = 8;
constexpr std::size_t kChosen = 2;
/// The pair that is verified, and is the only one when hot, comes first.
constexpr std::array<std::array<std::size_t, kChosen>, kExperts / kChosen> kPairs{
    {{3, 5}, {0, 1}, {2, 4}, {6, 7}}};

/// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it; summing in f32 adds about 1e-5 of
/// the root mean square.
constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

struct Problem {
  std::size_t size;
  std::string dtype;
  std::size_t matrix_bytes;
};

struct Inputs {
  InputCopies experts;  ///< W
  std::vector<Bf16> x;
  std::vector<double> expected;

  const std::byte* matrix(std::size_t copy, std::size_t chosen, std::size_t matrix_bytes) const {
    return experts.copy(copy / kPairs.size()) + kPairs[copy % kPairs.size()][chosen] * matrix_bytes;
  }
};

std::shared_ptr<Inputs> make_inputs(State& state, const Problem& problem, std::size_t copies,
                                    ThreadPool& pool) {
  const std::size_t bytes = bytes_of(kExperts, problem.matrix_bytes);
  state.require_memory(bytes_of(InputCopies::stride_of(bytes), copies));
  auto inputs =
      std::make_shared<Inputs>(Inputs{InputCopies(bytes, copies), std::vector<Bf16>(problem.size), {}});
  fill_random(std::span(inputs->x), state.seed() + 1);
  if (problem.dtype == "bf16") {
    fill_random(inputs->experts.first<Bf16>(), state.seed());
  } else {
    fill_random(inputs->experts.first<std::int8_t>(), state.seed());
  }
  const std::vector<double> x = as_doubles(inputs->x);
  for (std::size_t chosen = 0; chosen < kChosen; ++chosen) {
    const std::byte* matrix = inputs->matrix(0, chosen, problem.matrix_bytes);
    const std::vector<double> part = exact_gemv(pool, problem.dtype, matrix, problem.size, x);
    inputs->expected.insert(inputs->expected.end(), part.begin(), part.end());
  }
  inputs->experts.spread(pool);
  return inputs;
}

void measure(State& state, std::vector<Bf16>& y, const Inputs& inputs, const auto& body) {
  state.verify([&] { body(0); }, std::span(y), inputs.expected, kTolerance);
  state.measure(body);
}

void describe(State& state, const Problem& problem) {
  const auto size = static_cast<double>(problem.size);
  state.work({.flops = kChosen * 2 * size * size,
              .bytes = kChosen * static_cast<double>(problem.matrix_bytes),
              .dtype = "bf16"});
  state.input("W", fmt::format("{}[{},{},{}] {}", problem.dtype, kExperts, problem.size, problem.size,
                               problem.dtype == "bf16" ? "normal(0,1)" : "uniform[-127,127]"));
  state.input("x", fmt::format("bf16[{}] normal(0,1)", problem.size));
  state.input("score_idxs", "int64[2] 3, 5");
}

void measure_reference(State& state, const Problem& problem, const Inputs& inputs) {
  const std::size_t size = problem.size;
  std::vector<Bf16> y(kChosen * size);
  std::vector<float> sums(kChosen * size);
  state.note("isa", "plain loops");
  measure(state, y, inputs, [&](std::size_t copy) {
    for (std::size_t chosen = 0; chosen < kChosen; ++chosen) {
      const std::byte* matrix = inputs.matrix(copy, chosen, problem.matrix_bytes);
      reference_gemv(problem.dtype, matrix, size, size, inputs.x.data(), sums.data() + chosen * size);
    }
    round_to_bf16(sums.data(), {0, kChosen * size}, y.data());
  });
}

}  // namespace

void gather_gemv(State& state) {
  const std::size_t size = size_axis(state, "D");
  const std::string dtype = state.text("dtype");
  const Problem problem{size, dtype, bytes_of(size, size, item_bytes(dtype))};
  state.require_memory(bytes_of(kExperts, problem.matrix_bytes));
  const std::size_t rotations = state.rotate(kChosen * problem.matrix_bytes);
  const std::size_t copies = (rotations + kPairs.size() - 1) / kPairs.size();
  const auto pool = shared_pool(state);
  const auto inputs = state.shared<Inputs>(
      fmt::format("gather_gemv D={} dtype={} seed={} copies={}", size, dtype, state.seed(), copies),
      [&] { return make_inputs(state, problem, copies, *pool); });
  describe(state, problem);

  if (state.backend() == "reference") {
    measure_reference(state, problem, *inputs);
    return;
  }
  std::vector<Bf16> y(kChosen * size);
  std::vector<float> sums(kChosen * size);
  const std::size_t share = kChosen * problem.matrix_bytes / static_cast<std::size_t>(pool->workers());
  SplitGemv kernel(gemv_kernel(dtype, chosen_isa()), pool->workers(), size,
                   reach_of(share, state.caches() == Caches::kHot));
  state.note("isa", kernel.isa());
  measure(state, y, *inputs, [&](std::size_t copy) {
    pool->run([&](int worker, int workers) {
      const Slice rows = slice_of(size, worker, workers);
      kernel.prepare(worker, inputs->x.data());
      for (std::size_t chosen = 0; chosen < kChosen; ++chosen) {
        const std::byte* matrix = inputs->matrix(copy, chosen, problem.matrix_bytes);
        kernel.multiply(worker, matrix, size * item_bytes(dtype), rows, sums.data() + chosen * size);
        round_to_bf16(sums.data() + chosen * size, rows, y.data() + chosen * size);
      }
    });
  });
}

}  // namespace headroom::native
