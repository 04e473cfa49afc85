// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// How the numbers of a matrix lie in memory.
enum class LlmFormat {
  kBf16,
  kInt8,        ///< int8, a scale of bf16 for each row
  kInt8Blocks,  ///< blocks of 32 in a row: a scale of binary16, 32 of int8 (ggml's Q8_0)
  kInt4Blocks,  ///< the same with 4 bits each, of which 8 is zero (ggml's Q4_0)
  kInt4Super,   ///< blocks of 256: two scales of binary16, eight scales and minima of 6 bits (ggml's Q4_K)
  kInt5Super,   ///< the same with 5 bits each (ggml's Q5_K)
  kInt6Super    ///< 6 bits each, sixteen scales of 8 bits, one of binary16 (ggml's Q6_K)
};

constexpr LlmFormat kLlmFormats[] = {LlmFormat::kBf16,       LlmFormat::kInt8,      LlmFormat::kInt8Blocks,
                                     LlmFormat::kInt4Blocks, LlmFormat::kInt4Super, LlmFormat::kInt5Super,
                                     LlmFormat::kInt6Super};

/// "bf16", "int8", "int8_g32", "int4", "q4_k", "q5_k", "q6_k": the dtypes of kernels.
const char* name_of(LlmFormat format);
/// Throws std::invalid_argument for any other name.
LlmFormat llm_format(std::string_view dtype);
/// Numbers of a block, which a row is a multiple of, and its bytes; 1 where each number stands by itself.
constexpr std::size_t block_columns(LlmFormat format) {
  if (format >= LlmFormat::kInt4Super) return 256;
  return format >= LlmFormat::kInt8Blocks ? 32 : 1;
}
std::size_t block_bytes(LlmFormat format);
constexpr bool is_blocked(LlmFormat format) {
  return block_columns(format) > 1;
}
/// Bytes of `columns` numbers of a row, scales of rows not counted.
std::size_t row_bytes(LlmFormat format, std::size_t columns);

/// Of the matrices of a layer.
struct LlmLayerFormats {
  LlmFormat qkv, out, up, down;
  LlmFormat key = qkv, value = qkv;  ///< where they are not those of the queries, all three lie by themselves

  LlmFormat shared_up = up, shared_down = down;  ///< of the expert that all tokens go through

  bool has_one_qkv() const { return key == qkv && value == qkv; }
};

/// Shapes of a decoder-only transformer with RMSNorm, rotary embeddings, grouped-query attention and SwiGLU,
/// whose feed-forward layers may be experts of which each token takes the few that its gate scores highest.
struct LlmConfig {
  std::string model;  ///< "Llama-2-7b-chat-hf"
  std::string dtype;  ///< of the linear layers' weights: one of LlmFormat's names
  std::size_t layers = 0;
  std::size_t dim = 0;  ///< of the residual stream
  std::size_t heads = 0;
  std::size_t kv_heads = 0;  ///< divides heads
  std::size_t hidden = 0;    ///< of the feed-forward layers
  std::size_t vocab = 0;
  std::size_t experts = 1;  ///< 1: a plain feed-forward layer without a gate
  std::size_t chosen = 1;   ///< experts for each token
  /// Chosen experts have the shares of a softmax over all of them, which do not sum to 1.
  bool has_shares_of_all = false;
  /// Of an expert that all tokens go through beside, times the sigmoid of a score of its own; 0: none.
  std::size_t shared_hidden = 0;
  double rope_base = 10000;
  float norm_epsilon = 1e-5F;
  bool has_bias = false;                   ///< queries, keys and values have one
  std::vector<float> rope_factors{};       ///< [head_dim / 2]: what each frequency is divided by; empty: 1
  float rope_magnitude = 1;                ///< of rotated queries and keys beside those before
  std::vector<LlmLayerFormats> formats{};  ///< of each layer, where they are not all `dtype`
  std::string output_dtype{};              ///< of the last matrix; empty: `dtype`

  std::size_t head_dim() const { return dim / heads; }
  std::size_t kv_dim() const { return kv_heads * head_dim(); }
  std::size_t qkv_rows() const { return dim + 2 * kv_dim(); }
  bool is_gated() const { return experts > 1; }
  LlmLayerFormats formats_of(std::size_t layer) const;
  LlmFormat output_format() const { return llm_format(output_dtype.empty() ? dtype : output_dtype); }
};

/// Llama 2 7B, and Mixtral 8x7B halved to 16 layers as gpt-fast's benchmark has it. Sources: the models'
/// published configurations; benchmarks/gpt_fast/model.py and mixtral_moe_model.py of PyTorch.
LlmConfig llama2_7b(const std::string& dtype);
LlmConfig mixtral_8x7b(const std::string& dtype);

/// Throws std::invalid_argument where the shapes do not fit together: heads that do not divide dim, an odd
/// head, kv_heads that do not divide heads, more experts chosen than there are.
void require_sound(const LlmConfig& config);

}  // namespace headroom
