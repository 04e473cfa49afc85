// SPDX-License-Identifier: Apache-2.0
#include "headroom_torch/llm/llm_decode.h"

#include <ATen/Context.h>

#include <chrono>

#include "headroom/workload/llm_workload.h"
#include "headroom_torch/llm/aten_decoder.h"
#include "headroom_torch/tensors.h"

namespace headroom::torch_runner {
namespace {

/// ATen rounds to bf16 behind each operator, the residual stream too: twice a layer 2^-9 of what it has grown
/// to.
constexpr Tolerance kDecodeTolerance{.relative = 0.3};

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
  measure_llm(state, *workload, decoder, team, kDecodeTolerance, std::chrono::steady_clock::now() - start);
}

}  // namespace headroom::torch_runner
