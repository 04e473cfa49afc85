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

/// Shape of a case: `tokens` for each sequence, after `context` positions.
struct LlmShape {
  std::size_t sequences, context, tokens;
  LlmLogits wanted = LlmLogits::kLast;

  std::size_t positions() const { return context + tokens; }
  double rows() const { return static_cast<double>(sequences * tokens); }
};

/// The minimum of bytes and operations: weights, keys and values once, and the wanted logits. The dtype is
/// "int8" if `isa` does more than a twentieth of the operations on integers, which may be faster than any
/// float; else "bf16".
Work llm_work(const LlmConfig& config, const LlmShape& shape, Isa isa);

/// Measures decoding with `config`; the axes may change its layers.
void llm_decode(State& state, const LlmConfig& config);

/// Registry::TakeArguments: "--model FILE" (GGUF, safetensors, or llama2_7b and mixtral_8x7b with random
/// weights) and "--tokens 1,15,27", the prompt. Adds the experiments llm.decode, llm.prefill and
/// llm.verify. Throws Error as open_llm_file does, and for token ids outside the vocabulary.
void offer_llm(Registry& registry, const std::vector<std::string>& arguments);

}  // namespace headroom::native
