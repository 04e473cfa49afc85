// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/llm_config.h"

#include <stdexcept>

namespace headroom {

LlmConfig llama2_7b(const std::string& dtype) {
  LlmConfig config;
  config.model = "Llama-2-7b-chat-hf";
  config.dtype = dtype;
  config.layers = 32;
  config.dim = 4096;
  config.heads = config.kv_heads = 32;
  config.hidden = 11008;
  config.vocab = 32000;
  return config;
}

LlmConfig mixtral_8x7b(const std::string& dtype) {
  LlmConfig config;
  config.model = "Mixtral-8x7B-v0.1";
  config.dtype = dtype;
  config.layers = 16;
  config.dim = 4096;
  config.heads = 32;
  config.kv_heads = 8;
  config.hidden = 14336;
  config.vocab = 32000;
  config.experts = 8;
  config.chosen = 2;
  config.rope_base = 1e6;
  return config;
}

void require_sound(const LlmConfig& config) {
  const auto require = [&](bool sound, const char* what) {
    if (!sound) throw std::invalid_argument(config.model + ": " + what);
  };
  require(config.layers > 0 && config.dim > 0 && config.hidden > 0 && config.vocab > 0, "a size is 0");
  require(config.heads > 0 && config.dim % config.heads == 0, "the heads do not divide dim");
  require(config.head_dim() % 2 == 0, "a head of odd size cannot be rotated");
  require(config.kv_heads > 0 && config.heads % config.kv_heads == 0, "kv_heads do not divide the heads");
  require(config.chosen > 0 && config.chosen <= config.experts, "more experts are chosen than there are");
  require(config.dtype == "bf16" || config.dtype == "int8", "the dtype is neither bf16 nor int8");
}

}  // namespace headroom
