// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_config.h"
#include "headroom/workload/llm_weights.h"
#include "headroom/workload/team.h"

namespace headroom::native {

/// A model that is measured, from a file or with random weights.
struct LlmSubject {
  std::string name;
  std::string stored;                ///< how the file has its weights: "Q8_0"; empty: random ones
  std::vector<std::int32_t> tokens;  ///< of the prompt, as they were given; empty: any
  /// The config of so many layers with weights of this dtype. Throws Error.
  std::function<LlmConfig(std::size_t layers, const std::string& dtype)> config;
  /// Its weights.
  std::function<LlmWeights(const LlmConfig& config, std::uint64_t seed, const Team& team)> load;
};

/// One token more for each of `batch` sequences that have `context` tokens: axes layers, dtype, batch,
/// context.
void llm_decode_batch(State& state, const LlmSubject& subject);
/// `batch` prompts of `prompt_len` tokens, up to the logits behind them.
void llm_prefill(State& state, const LlmSubject& subject);
/// `draft` tokens behind `context`, and the logits behind each of them: what verifying a draft takes.
void llm_verify(State& state, const LlmSubject& subject);

}  // namespace headroom::native
