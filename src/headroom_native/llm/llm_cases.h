// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headroom/experiment/registry.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/llm_model.h"
#include "headroom_native/kernels/isa.h"
#include "headroom_native/llm/decoder.h"

namespace headroom::native {

/// `tokens` for each sequence, after `context` positions.
struct LlmShape {
  std::size_t sequences, context, tokens;
  LlmLogits wanted = LlmLogits::kLast;

  std::size_t positions() const { return context + tokens; }
  double rows() const { return static_cast<double>(sequences * tokens); }
};

/// Least bytes and operations: weights, keys and values once, and the required logits. The dtype is "int8" if
/// more than a twentieth of the operations are on integers.
Work llm_work(const LlmConfig& config, const LlmShape& shape, Isa isa);

/// The axes may change the layers of `config`.
void llm_decode(State& state, const LlmConfig& config);

/// "--model FILE" (GGUF, safetensors, or llama2_7b and mixtral_8x7b with random weights) and the prompt
/// "--tokens 1,15,27" (Registry::TakeArguments). Adds llm.decode, llm.prefill and llm.verify. Throws Error
/// like open_llm_file, and for token ids outside the vocabulary.
void register_llm(Registry& registry, const std::vector<std::string>& arguments);

}  // namespace headroom::native
