// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/llm/llm_decode.h"

#include <ATen/Context.h>

#include <algorithm>
#include <chrono>

#include "headroom/workload/llm_workload.h"
#include "headroom_torch/llm/aten_decoder.h"
#include "headroom_torch/tensors/sum_precision.h"
#include "headroom_torch/tensors/tensors.h"

namespace headroom::torch_runner {
namespace {

/// ATen rounds to bf16 behind each operator, the residual stream too: twice a layer 2^-9 of what it has grown
/// to.
constexpr Tolerance kDecodeTolerance{.relative = 0.3};

/// Of the products that decoding is made of. The gate and attention are not asked: they are small.
Precision precision_of(const LlmConfig& config) {
  const auto product = [](const at::Tensor& weights, const at::Tensor& x) {
    return at::linear(x.unsqueeze(0), weights);
  };
  const auto dim = static_cast<std::int64_t>(config.dim), hidden = static_cast<std::int64_t>(config.hidden);
  return std::min(precision_of_sums(product, {hidden, dim}, Place{}),
                  precision_of_sums(product, {dim, hidden}, Place{}));
}

/// The errors of a layer (into attention, out of it, up, down) and of the logits. Each layer adds its own to
/// the residual stream as it adds to its size, so that their share of it does not grow with the layers.
Tolerance tolerance_of(const LlmConfig& config) {
  return tolerance_of_sums(kDecodeTolerance, precision_of(config),
                           {config.dim, config.dim, config.dim, config.hidden, config.dim}, config.vocab);
}

}  // namespace

void llm_decode(State& state, const LlmConfig& config) {
  use_threads_of(state);
  const Team team = fresh_threads(state.threads());
  const auto workload = llm_workload(state, config, team);
  const auto start = std::chrono::steady_clock::now();
  at::manual_seed(state.seed());
  const auto int8 = state.backend() == "aten" ? AtenDecoder::Int8::kFresh : AtenDecoder::Int8::kIntoPlace;
  AtenDecoder decoder(workload->weights, workload->positions(), static_cast<std::int64_t>(LlmWorkload::kTopK),
                      LlmWorkload::kTemperature, int8);
  const Tolerance tolerance = tolerance_of(workload->weights.config());
  measure_llm(state, *workload, decoder, team, tolerance, std::chrono::steady_clock::now() - start);
}

}  // namespace headroom::torch_runner
