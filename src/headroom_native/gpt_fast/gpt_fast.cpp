// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gpt_fast/gpt_fast.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/buffer.h"
#include "headroom/experiment/sum_tolerance.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/norm_kernel.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/kernels/tuning.h"
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

// Backend "reference": plain loops in f32 on one thread.

float as_float(Bf16 value) {
  return to_float(value);
}
float as_float(std::int8_t value) {
  return value;
}

template <typename Weight>
void plain_gemv(const Weight* weights, std::size_t rows, std::size_t columns, const Bf16* x, float* y) {
  for (std::size_t row = 0; row < rows; ++row) {
    float sum = 0;
    for (std::size_t k = 0; k < columns; ++k) sum += as_float(weights[row * columns + k]) * to_float(x[k]);
    y[row] = sum;
  }
}

[[gnu::noinline]] void reference_gemv(std::string_view dtype, const std::byte* weights, std::size_t rows,
                                      std::size_t columns, const Bf16* x, float* y) {
  if (dtype == "bf16") {
    plain_gemv(reinterpret_cast<const Bf16*>(weights), rows, columns, x, y);
  } else {
    plain_gemv(reinterpret_cast<const std::int8_t*>(weights), rows, columns, x, y);
  }
}

[[gnu::noinline]] void reference_layer_norm(const float* x, std::size_t columns, const float* gamma,
                                            const float* beta, Bf16* y) {
  const auto count = static_cast<float>(columns);
  float sum = 0;
  for (std::size_t k = 0; k < columns; ++k) sum += x[k];
  const float mean = sum / count;
  float squares = 0;
  for (std::size_t k = 0; k < columns; ++k) squares += (x[k] - mean) * (x[k] - mean);
  const float scale = 1 / std::sqrt(squares / count + kNormEpsilon);
  for (std::size_t k = 0; k < columns; ++k) y[k] = to_bf16((x[k] - mean) * scale * gamma[k] + beta[k]);
}

/// Workers have a prepared x each.
class SplitGemv {
 public:
  SplitGemv(GemvKernel kernel, int workers, std::size_t columns, GemvWalk walk)
      : kernel_(std::move(kernel)), columns_(columns), walk_(walk) {
    for (int worker = 0; worker < workers; ++worker) prepared_.emplace_back(prepared_bytes(columns));
  }

  const std::string& isa() const { return kernel_.isa; }
  std::size_t columns() const { return columns_; }

  void prepare(int worker, const Bf16* x) {
    kernel_.prepare(x, columns_, prepared_[static_cast<std::size_t>(worker)].data());
  }
  void multiply(int worker, const std::byte* weights, std::size_t bytes_per_row, Slice slice,
                float* sums) const {
    kernel_.multiply(weights + slice.begin * bytes_per_row, slice.size(), columns_,
                     prepared_[static_cast<std::size_t>(worker)].data(), walk_, sums + slice.begin);
  }
  void round(const float* sums, Slice slice, Bf16* y) const {
    kernel_.round(sums + slice.begin, slice.size(), y + slice.begin);
  }

 private:
  GemvKernel kernel_;
  std::size_t columns_;
  GemvWalk walk_;
  std::vector<Buffer> prepared_;
};

/// RMS error relative to the RMS of `expected` ("2.9e-05"), before rounding to bf16.
std::string error_of_sums(std::span<const float> sums, std::span<const double> expected) {
  std::vector<double> errors;
  for (std::size_t i = 0; i < expected.size(); ++i) errors.push_back(double{sums[i]} - expected[i]);
  const double scale = root_mean_square(expected);
  return fmt::format("{:.2g}", scale > 0 ? root_mean_square(errors) / scale : 0);
}

[[gnu::noinline]] void round_to_bf16(const float* from, Slice slice, Bf16* to) {
  for (std::size_t i = slice.begin; i < slice.end; ++i) to[i] = to_bf16(from[i]);
}

template <typename Workload>
void measure_product(State& state, const Workload& inputs, ThreadPool& pool) {
  if (measured_by_peer(state, inputs, pool)) return;
  constexpr std::size_t kChosen = Workload::kChosen;
  const std::size_t size = inputs.size;
  std::vector<Bf16> y(kChosen * size);
  std::vector<float> sums(kChosen * size);
  const auto measure = [&](const auto& body) {
    state.verify([&] { body(0); }, std::span(y), inputs.expected, Workload::kTolerance);
    state.note("error of sums", error_of_sums(sums, inputs.expected));
    state.measure(body);
  };
  if (state.backend() == "reference") {
    state.note("isa", "plain loops");
    return measure([&](std::size_t turn) {
      for (std::size_t chosen = 0; chosen < kChosen; ++chosen) {
        reference_gemv(inputs.dtype, inputs.matrix(turn, chosen), size, size, inputs.x.data(),
                       sums.data() + chosen * size);
      }
      round_to_bf16(sums.data(), {0, kChosen * size}, y.data());
    });
  }
  const Isa isa = chosen_isa();
  const bool strict = state.backend() == "native_strict";
  const std::size_t share = inputs.chosen_bytes() / static_cast<std::size_t>(pool.workers());
  const GemvChoice choice = gemv_choice(state, share, inputs.dtype, isa);
  SplitGemv kernel(gemv_kernel(inputs.dtype, isa, strict ? GemvForm::kStrict : choice.form), pool.workers(),
                   size, choice.walk);
  state.note("isa", kernel.isa());
  const std::size_t row_bytes = size * item_bytes(inputs.dtype);
  measure([&](std::size_t turn) {
    const auto share_of_rows = [&](int worker, int workers) {
      const Slice rows = slice_of(size, worker, workers);
      kernel.prepare(worker, inputs.x.data());
      for (std::size_t chosen = 0; chosen < kChosen; ++chosen) {
        kernel.multiply(worker, inputs.matrix(turn, chosen), row_bytes, rows, sums.data() + chosen * size);
        kernel.round(sums.data() + chosen * size, rows, y.data() + chosen * size);
      }
    };
    if (choice.one_thread) return pool.run_on_caller(share_of_rows);
    pool.run(share_of_rows);
  });
}

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

class ReferenceMlp {
 public:
  explicit ReferenceMlp(const MlpWorkload& inputs) : inputs_(inputs), hidden_(inputs.up.outputs()) {}

  void run(std::size_t copy, Bf16* y) {
    layer(inputs_.up, copy, inputs_.x, hidden_.data());
    layer(inputs_.down, copy, hidden_, y);
  }

 private:
  static void layer(const MlpWorkload::Layer& layer, std::size_t copy, const std::vector<Bf16>& x, Bf16* y) {
    const std::size_t outputs = layer.outputs();
    std::vector<float> sums(outputs), gamma(outputs), beta(outputs);
    reference_gemv("bf16", layer.weights.copy(copy), outputs, x.size(), x.data(), sums.data());
    for (std::size_t i = 0; i < outputs; ++i) {
      sums[i] += to_float(layer.bias[i]);
      gamma[i] = to_float(layer.gamma[i]);
      beta[i] = to_float(layer.beta[i]);
    }
    reference_layer_norm(sums.data(), outputs, gamma.data(), beta.data(), y);
  }

  const MlpWorkload& inputs_;
  std::vector<Bf16> hidden_;
};

/// Each worker computes all hidden activations: one barrier less.
class NativeMlp {
 public:
  NativeMlp(const MlpWorkload& inputs, ThreadPool& pool, Isa isa, GemvWalk walk)
      : inputs_(inputs),
        pool_(pool),
        norm_(norm_kernel(isa)),
        up_(gemv_kernel("bf16", isa), pool.workers(), inputs.x.size(), walk),
        down_(gemv_kernel("bf16", isa), pool.workers(), inputs.up.outputs(), walk),
        hidden_sums_(inputs.up.outputs()),
        sums_(inputs.x.size()),
        hidden_(static_cast<std::size_t>(pool.workers()), std::vector<Bf16>(inputs.up.outputs())) {}

  std::string isa() const { return up_.isa(); }

  void run(std::size_t copy, Bf16* y) {
    pool_.run([&](int worker, int workers) {
      linear(up_, inputs_.up, copy, inputs_.x.data(), hidden_sums_, worker, workers);
      pool_.barrier();
      std::vector<Bf16>& hidden = hidden_[static_cast<std::size_t>(worker)];
      norm(inputs_.up, hidden_sums_, hidden.data());
      linear(down_, inputs_.down, copy, hidden.data(), sums_, worker, workers);
    });
    norm(inputs_.down, sums_, y);
  }

 private:
  static void linear(SplitGemv& kernel, const MlpWorkload::Layer& layer, std::size_t copy, const Bf16* x,
                     std::vector<float>& sums, int worker, int workers) {
    const Slice rows = slice_of(sums.size(), worker, workers);
    kernel.prepare(worker, x);
    kernel.multiply(worker, layer.weights.copy(copy), kernel.columns() * sizeof(Bf16), rows, sums.data());
    for (std::size_t row = rows.begin; row < rows.end; ++row) sums[row] += to_float(layer.bias[row]);
  }

  void norm(const MlpWorkload::Layer& layer, const std::vector<float>& sums, Bf16* y) const {
    norm_.vector(sums.data(), sums.size(), layer.gamma.data(), layer.beta.data(), y);
  }

  const MlpWorkload& inputs_;
  ThreadPool& pool_;
  NormKernel norm_;
  SplitGemv up_, down_;
  std::vector<float> hidden_sums_, sums_;
  std::vector<std::vector<Bf16>> hidden_;  ///< per worker
};

void measure(State& state, const MlpWorkload& inputs, auto& mlp) {
  std::vector<Bf16> y(inputs.x.size());
  state.verify([&] { mlp.run(0, y.data()); }, std::span(y), inputs.expected, MlpWorkload::kTolerance);
  state.measure([&](std::size_t copy) { mlp.run(copy, y.data()); });
}

}  // namespace

void gemv(State& state) {
  const auto pool = shared_pool(state);
  measure_product(state, *gemv_workload(state, team_of(*pool)), *pool);
}

void gather_gemv(State& state) {
  const auto pool = shared_pool(state);
  measure_product(state, *gather_gemv_workload(state, team_of(*pool)), *pool);
}

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

void mlp_layer_norm_gelu(State& state) {
  const auto pool = shared_pool(state);
  const auto inputs = mlp_workload(state, team_of(*pool));
  if (measured_by_peer(state, *inputs, *pool)) return;
  if (state.backend() == "reference") {
    state.note("isa", "plain loops");
    ReferenceMlp mlp(*inputs);
    measure(state, *inputs, mlp);
    return;
  }
  const std::size_t share = inputs->weight_bytes() / static_cast<std::size_t>(pool->workers());
  const Isa isa = chosen_isa();
  const GemvChoice choice = gemv_choice(state, share, "bf16", isa);
  if (choice.one_thread) state.skip("this variant has one thread, two layers of weights need all");
  NativeMlp mlp(*inputs, *pool, isa, choice.walk);
  state.note("isa", mlp.isa());
  measure(state, *inputs, mlp);
}

}  // namespace headroom::native
