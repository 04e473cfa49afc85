// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/gpt_fast/mlp_layer_norm_gelu.h"

#include "headroom/workload/mlp_workload.h"
#include "headroom_native/kernels/norm_kernel.h"
#include "headroom_native/kernels/pool_team.h"
#include "headroom_native/kernels/reference_kernels.h"
#include "headroom_native/kernels/split_gemv.h"
#include "headroom_native/kernels/tuning.h"
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

/// The whole chain as plain loops.
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

/// One fork and join. Each worker computes all hidden activations for itself from the shared sums: that costs
/// some microseconds and saves a second meeting.
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
      pool_.meet();
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
  std::vector<std::vector<Bf16>> hidden_;  ///< of each worker
};

void measure(State& state, const MlpWorkload& inputs, auto& mlp) {
  std::vector<Bf16> y(inputs.x.size());
  state.verify([&] { mlp.run(0, y.data()); }, std::span(y), inputs.expected, MlpWorkload::kTolerance);
  state.measure([&](std::size_t copy) { mlp.run(copy, y.data()); });
}

}  // namespace

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
  if (choice.one_thread) state.skip("two layers of weights are worth all threads");
  NativeMlp mlp(*inputs, *pool, isa, choice.walk);
  state.note("isa", mlp.isa());
  measure(state, *inputs, mlp);
}

}  // namespace headroom::native
