// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/mlp_layer_norm_gelu.h"

#include <fmt/format.h>

#include "headroom/experiment/random.h"
#include "headroom_native/input_copies.h"
#include "headroom_native/norm_kernel.h"
#include "headroom_native/oracle.h"
#include "headroom_native/reference_kernels.h"
#include "headroom_native/split_gemv.h"

namespace headroom::native {
namespace {

/// Rounding the result to bf16 (8 significant bits) costs up to 2^-8 of it. A hidden activation that lies
/// between two bf16 may round the other way than in float64; that, and sums in f32, cost about 1e-4 of the
/// root mean square.
constexpr Tolerance kTolerance{.relative = 1.25 * 0x1p-8};

struct Problem {
  std::size_t size;  ///< D
  std::size_t hidden;
};

/// One linear layer and the LayerNorm behind it.
struct Layer {
  InputCopies weights;  ///< [outputs, inputs]
  std::vector<Bf16> bias, gamma, beta;

  Layer(std::size_t outputs, std::size_t inputs, std::size_t copies)
      : weights(bytes_of(outputs, inputs, sizeof(Bf16)), copies),
        bias(outputs),
        gamma(outputs),
        beta(outputs) {}

  void fill(std::uint64_t seed) {
    fill_random(weights.first<Bf16>(), seed);
    fill_random(std::span(bias), seed + 1);
    fill_random(std::span(gamma), seed + 2);
    fill_random(std::span(beta), seed + 3);
  }
};

struct Inputs {
  Layer up;    ///< D to hidden
  Layer down;  ///< hidden to D
  std::vector<Bf16> x;
  std::vector<double> expected;
};

std::vector<double> exact_layer(ThreadPool& pool, const Layer& layer, std::span<const double> x) {
  const std::vector<double> linear =
      exact_gemv(pool, "bf16", layer.weights.copy(0), layer.bias.size(), x, as_doubles(layer.bias));
  return exact_layer_norm(linear, as_doubles(layer.gamma), as_doubles(layer.beta));
}

std::vector<double> exact_mlp(ThreadPool& pool, const Inputs& inputs) {
  std::vector<double> hidden = exact_layer(pool, inputs.up, as_doubles(inputs.x));
  for (double& value : hidden) value = to_float(to_bf16(static_cast<float>(value)));
  return exact_layer(pool, inputs.down, hidden);
}

std::shared_ptr<Inputs> make_inputs(State& state, const Problem& problem, std::size_t copies,
                                    ThreadPool& pool) {
  const std::size_t layer_bytes = bytes_of(problem.size, problem.hidden, sizeof(Bf16));
  state.require_memory(bytes_of(2, InputCopies::stride_of(layer_bytes), copies));
  auto inputs = std::make_shared<Inputs>(Inputs{Layer(problem.hidden, problem.size, copies),
                                                Layer(problem.size, problem.hidden, copies),
                                                std::vector<Bf16>(problem.size),
                                                {}});
  fill_random(std::span(inputs->x), state.seed());
  inputs->up.fill(state.seed() + 1);
  inputs->down.fill(state.seed() + 5);
  inputs->expected = exact_mlp(pool, *inputs);
  inputs->up.weights.spread(pool);
  inputs->down.weights.spread(pool);
  return inputs;
}

void describe(State& state, const Problem& problem) {
  const double weights = 2 * static_cast<double>(problem.size) * static_cast<double>(problem.hidden);
  state.work({.flops = 2 * weights, .bytes = weights * sizeof(Bf16), .dtype = "bf16"});
  state.input("x", fmt::format("bf16[{}] normal(0,1)", problem.size));
  state.input("W1", fmt::format("bf16[{},{}] normal(0,1)", problem.hidden, problem.size));
  state.input("W2", fmt::format("bf16[{},{}] normal(0,1)", problem.size, problem.hidden));
  state.input("bias, gamma, beta", "bf16 normal(0,1)");
}

/// The whole chain as plain loops.
class ReferenceMlp {
 public:
  explicit ReferenceMlp(const Inputs& inputs) : inputs_(inputs), hidden_(inputs.up.bias.size()) {}

  void run(std::size_t copy, Bf16* y) {
    layer(inputs_.up, copy, inputs_.x, hidden_.data());
    layer(inputs_.down, copy, hidden_, y);
  }

 private:
  static void layer(const Layer& layer, std::size_t copy, const std::vector<Bf16>& x, Bf16* y) {
    const std::size_t outputs = layer.bias.size();
    std::vector<float> sums(outputs), gamma(outputs), beta(outputs);
    reference_gemv("bf16", layer.weights.copy(copy), outputs, x.size(), x.data(), sums.data());
    for (std::size_t i = 0; i < outputs; ++i) {
      sums[i] += to_float(layer.bias[i]);
      gamma[i] = to_float(layer.gamma[i]);
      beta[i] = to_float(layer.beta[i]);
    }
    reference_layer_norm(sums.data(), outputs, gamma.data(), beta.data(), y);
  }

  const Inputs& inputs_;
  std::vector<Bf16> hidden_;
};

/// Two forks and joins. Each worker computes all hidden activations for itself from the shared sums: that
/// costs some microseconds and saves a third fork and join.
class NativeMlp {
 public:
  NativeMlp(const Inputs& inputs, ThreadPool& pool, Isa isa, Reach reach)
      : inputs_(inputs),
        pool_(pool),
        norm_(norm_kernel(isa)),
        up_(gemv_kernel("bf16", isa), pool.workers(), inputs.x.size(), reach),
        down_(gemv_kernel("bf16", isa), pool.workers(), inputs.up.bias.size(), reach),
        hidden_sums_(inputs.up.bias.size()),
        sums_(inputs.x.size()),
        hidden_(static_cast<std::size_t>(pool.workers()), std::vector<Bf16>(inputs.up.bias.size())) {}

  std::string isa() const { return up_.isa(); }

  void run(std::size_t copy, Bf16* y) {
    pool_.run([&](int worker, int workers) {
      linear(up_, inputs_.up, copy, inputs_.x.data(), hidden_sums_, worker, workers);
    });
    pool_.run([&](int worker, int workers) {
      std::vector<Bf16>& hidden = hidden_[static_cast<std::size_t>(worker)];
      norm(inputs_.up, hidden_sums_, hidden.data());
      linear(down_, inputs_.down, copy, hidden.data(), sums_, worker, workers);
    });
    norm(inputs_.down, sums_, y);
  }

 private:
  static void linear(SplitGemv& kernel, const Layer& layer, std::size_t copy, const Bf16* x,
                     std::vector<float>& sums, int worker, int workers) {
    const Slice rows = slice_of(sums.size(), worker, workers);
    kernel.prepare(worker, x);
    kernel.multiply(worker, layer.weights.copy(copy), kernel.columns() * sizeof(Bf16), rows, sums.data());
    for (std::size_t row = rows.begin; row < rows.end; ++row) sums[row] += to_float(layer.bias[row]);
  }

  void norm(const Layer& layer, const std::vector<float>& sums, Bf16* y) const {
    norm_.vector(sums.data(), sums.size(), layer.gamma.data(), layer.beta.data(), y);
  }

  const Inputs& inputs_;
  ThreadPool& pool_;
  NormKernel norm_;
  SplitGemv up_, down_;
  std::vector<float> hidden_sums_, sums_;
  std::vector<std::vector<Bf16>> hidden_;  ///< of each worker
};

void measure(State& state, const Inputs& inputs, auto& mlp) {
  std::vector<Bf16> y(inputs.x.size());
  state.verify([&] { mlp.run(0, y.data()); }, std::span(y), inputs.expected, kTolerance);
  state.measure([&](std::size_t copy) { mlp.run(copy, y.data()); });
}

}  // namespace

void mlp_layer_norm_gelu(State& state) {
  const Problem problem{size_axis(state, "D"), size_axis(state, "hidden")};
  const std::size_t bytes = bytes_of(2, problem.size, problem.hidden, sizeof(Bf16));
  state.require_memory(bytes);
  const std::size_t copies = state.rotate(InputCopies::stride_of(bytes));
  const auto pool = shared_pool(state);
  const auto inputs = state.shared<Inputs>(
      fmt::format("mlp D={} hidden={} seed={} copies={}", problem.size, problem.hidden, state.seed(), copies),
      [&] { return make_inputs(state, problem, copies, *pool); });
  describe(state, problem);
  if (state.backend() == "reference") {
    state.note("isa", "plain loops");
    ReferenceMlp mlp(*inputs);
    measure(state, *inputs, mlp);
    return;
  }
  const std::size_t share = bytes / static_cast<std::size_t>(pool->workers());
  NativeMlp mlp(*inputs, *pool, chosen_isa(), reach_of(share, state.caches() == Caches::kHot));
  state.note("isa", mlp.isa());
  measure(state, *inputs, mlp);
}

}  // namespace headroom::native
