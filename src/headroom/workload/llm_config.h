// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace headroom {

/// Shapes of a decoder-only transformer with RMSNorm, rotary embeddings, grouped-query attention and SwiGLU,
/// whose feed-forward layers may be experts of which each token takes the few that its gate scores highest.
struct LlmConfig {
  std::string model;  ///< "Llama-2-7b-chat-hf"
  std::string dtype;  ///< of the linear layers' weights: "bf16", or "int8" with a scale for each row
  std::size_t layers = 0;
  std::size_t dim = 0;  ///< of the residual stream
  std::size_t heads = 0;
  std::size_t kv_heads = 0;  ///< divides heads
  std::size_t hidden = 0;    ///< of the feed-forward layers
  std::size_t vocab = 0;
  std::size_t experts = 1;  ///< 1: a plain feed-forward layer without a gate
  std::size_t chosen = 1;   ///< experts for each token
  double rope_base = 10000;
  float norm_epsilon = 1e-5F;

  std::size_t head_dim() const { return dim / heads; }
  std::size_t kv_dim() const { return kv_heads * head_dim(); }
  std::size_t qkv_rows() const { return dim + 2 * kv_dim(); }
  bool is_gated() const { return experts > 1; }
};

/// Llama 2 7B, and Mixtral 8x7B halved to 16 layers as gpt-fast's benchmark has it. Sources: the models'
/// published configurations; benchmarks/gpt_fast/model.py and mixtral_moe_model.py of PyTorch.
LlmConfig llama2_7b(const std::string& dtype);
LlmConfig mixtral_8x7b(const std::string& dtype);

/// Throws std::invalid_argument where the shapes do not fit together: heads that do not divide dim, an odd
/// head, kv_heads that do not divide heads, more experts chosen than there are.
void require_sound(const LlmConfig& config);

}  // namespace headroom
