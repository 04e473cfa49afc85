// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gemv.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom_native/input_copies.h"
#include "headroom_native/oracle.h"
#include "headroom_native/reference_kernels.h"
#include "headroom_native/split_gemv.h"

namespace headroom::native {
namespace {

/// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it; summing in f32 adds about 1e-5 of
/// the root mean square.
constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

struct Problem {
  std::size_t size;
  std::string dtype;
  std::size_t weight_bytes;
};

struct Inputs {
  InputCopies weights;
  std::vector<Bf16> x;
  std::vector<double> expected;
};

std::shared_ptr<Inputs> make_inputs(State& state, const Problem& problem, std::size_t copies,
                                    ThreadPool& pool) {
  state.require_memory(bytes_of(InputCopies::stride_of(problem.weight_bytes), copies));
  auto inputs = std::make_shared<Inputs>(
      Inputs{InputCopies(problem.weight_bytes, copies), std::vector<Bf16>(problem.size), {}});
  fill_random(std::span(inputs->x), state.seed() + 1);
  if (problem.dtype == "bf16") {
    fill_random(inputs->weights.first<Bf16>(), state.seed());
  } else {
    fill_random(inputs->weights.first<std::int8_t>(), state.seed());
  }
  const std::vector<double> x = as_doubles(inputs->x);
  inputs->expected = exact_gemv(pool, problem.dtype, inputs->weights.copy(0), problem.size, x);
  inputs->weights.spread(pool);
  return inputs;
}

void measure(State& state, std::vector<Bf16>& y, const Inputs& inputs, const auto& body) {
  state.verify([&] { body(0); }, std::span(y), inputs.expected, kTolerance);
  state.measure(body);
}

void describe(State& state, const Problem& problem) {
  const auto size = static_cast<double>(problem.size);
  state.work({.flops = 2 * size * size, .bytes = static_cast<double>(problem.weight_bytes), .dtype = "bf16"});
  state.input("W", fmt::format("{}[{},{}] {}", problem.dtype, problem.size, problem.size,
                               problem.dtype == "bf16" ? "normal(0,1)" : "uniform[-127,127]"));
  state.input("x", fmt::format("bf16[{}] normal(0,1)", problem.size));
}

}  // namespace

void gemv(State& state) {
  const std::size_t size = size_axis(state, "D");
  const std::string dtype = state.text("dtype");
  const Problem problem{size, dtype, bytes_of(size, size, item_bytes(dtype))};
  state.require_memory(problem.weight_bytes);
  const std::size_t copies = state.rotate(InputCopies::stride_of(problem.weight_bytes));
  const auto pool = shared_pool(state);
  const auto inputs = state.shared<Inputs>(
      fmt::format("gemv D={} dtype={} seed={} copies={}", size, dtype, state.seed(), copies),
      [&] { return make_inputs(state, problem, copies, *pool); });
  describe(state, problem);

  std::vector<Bf16> y(size);
  std::vector<float> sums(size);
  if (state.backend() == "reference") {
    state.note("isa", "plain loops");
    measure(state, y, *inputs, [&](std::size_t copy) {
      reference_gemv(dtype, inputs->weights.copy(copy), size, size, inputs->x.data(), sums.data());
      round_to_bf16(sums.data(), {0, size}, y.data());
    });
    return;
  }
  const std::size_t share = problem.weight_bytes / static_cast<std::size_t>(pool->workers());
  SplitGemv kernel(gemv_kernel(dtype, chosen_isa()), pool->workers(), size,
                   reach_of(share, state.caches() == Caches::kHot));
  state.note("isa", kernel.isa());
  measure(state, y, *inputs, [&](std::size_t copy) {
    pool->run([&](int worker, int workers) {
      const Slice rows = slice_of(size, worker, workers);
      kernel.prepare(worker, inputs->x.data());
      kernel.multiply(worker, inputs->weights.copy(copy), size * item_bytes(dtype), rows, sums.data());
      round_to_bf16(sums.data(), rows, y.data());
    });
  });
}

}  // namespace headroom::native
