// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/buffer.h"
#include "headroom/workload/team.h"

namespace headroom {

enum class LlmFormat {
  kBf16,
  kInt8,        ///< int8, a bf16 scale per row
  kInt8Blocks,  ///< blocks of 32: a binary16 scale, 32 int8 (ggml's Q8_0)
  kInt4Blocks,  ///< the same with 4 bits each, where 8 is zero (ggml's Q4_0)
  kInt4Super,   ///< blocks of 256: two binary16 scales, eight scales and minima of 6 bits (ggml's Q4_K)
  kInt5Super,   ///< the same with 5 bits each (ggml's Q5_K)
  kInt6Super    ///< 6 bits each, sixteen scales of 8 bits, one of binary16 (ggml's Q6_K)
};

constexpr LlmFormat kLlmFormats[] = {LlmFormat::kBf16,       LlmFormat::kInt8,      LlmFormat::kInt8Blocks,
                                     LlmFormat::kInt4Blocks, LlmFormat::kInt4Super, LlmFormat::kInt5Super,
                                     LlmFormat::kInt6Super};

const char* name_of(LlmFormat format);
/// Throws std::invalid_argument for any other name.
LlmFormat llm_format(std::string_view dtype);
/// Numbers per block and bytes per block; rows are whole blocks. Formats without blocks have 1 number.
constexpr std::size_t block_columns(LlmFormat format) {
  if (format >= LlmFormat::kInt4Super) return 256;
  return format >= LlmFormat::kInt8Blocks ? 32 : 1;
}
std::size_t block_bytes(LlmFormat format);
constexpr bool is_blocked(LlmFormat format) {
  return block_columns(format) > 1;
}
/// Without row scales.
std::size_t row_bytes(LlmFormat format, std::size_t columns);

struct LlmLayerFormats {
  LlmFormat qkv{}, out{}, up{}, down{};
  LlmFormat key = qkv, value = qkv;  ///< if different from `qkv`, all three matrices are separate

  LlmFormat shared_up = up, shared_down = down;  ///< of the shared expert

  bool has_one_qkv() const { return key == qkv && value == qkv; }
};

/// A decoder-only transformer with RMSNorm, rotary embeddings, grouped-query attention and SwiGLU. Each token
/// uses the experts with the highest gate scores.
struct LlmConfig {
  std::string model;
  std::string dtype;  ///< of the linear layers' weights: one of LlmFormat's names
  std::size_t layers = 0;
  std::size_t dim = 0;  ///< of the residual stream
  std::size_t heads = 0;
  std::size_t head_size = 0;  ///< 0: dim / heads
  std::size_t kv_heads = 0;   ///< divides heads
  std::size_t hidden = 0;     ///< of the feed-forward layers
  std::size_t vocab = 0;
  std::size_t experts = 1;  ///< 1: a plain feed-forward layer without a gate
  std::size_t chosen = 1;   ///< experts per token
  /// Weighs chosen experts by the softmax over all, so weights do not sum to 1.
  bool has_shares_of_all = false;
  /// Size of the shared expert of all tokens, weighted by the sigmoid of a separate score; 0: none.
  std::size_t shared_hidden = 0;
  double rope_base = 10000;
  float norm_epsilon = 1e-5F;
  bool has_bias = false;                   ///< of queries, keys and values
  std::vector<float> rope_factors{};       ///< [head_dim / 2]: divisor of each frequency; empty: 1
  float rope_magnitude = 1;                ///< factor on the length of rotated queries and keys
  std::vector<LlmLayerFormats> formats{};  ///< per layer, if not all `dtype`
  std::string output_dtype{};              ///< of the last matrix; empty: `dtype`

  std::size_t head_dim() const { return head_size > 0 ? head_size : dim / heads; }
  std::size_t q_dim() const { return heads * head_dim(); }
  std::size_t kv_dim() const { return kv_heads * head_dim(); }
  std::size_t qkv_rows() const { return q_dim() + 2 * kv_dim(); }
  bool is_gated() const { return experts > 1; }
  LlmLayerFormats formats_of(std::size_t layer) const;
  LlmFormat output_format() const { return llm_format(output_dtype.empty() ? dtype : output_dtype); }
};

/// Llama 2 7B, and Mixtral 8x7B halved to 16 layers as in gpt-fast's benchmark. Sources: published
/// configurations; benchmarks/gpt_fast/model.py and mixtral_moe_model.py of PyTorch.
LlmConfig llama2_7b(const std::string& dtype);
LlmConfig mixtral_8x7b(const std::string& dtype);

/// Throws std::invalid_argument: heads without a size that do not divide dim, odd head size, kv_heads that do
/// not divide heads, more chosen experts than experts, partial blocks.
void require_valid(const LlmConfig& config);

/// Extends a model to contexts longer than in training.
struct RotaryScaling {
  std::string kind;        ///< "none", "default", "linear", "llama3" or "yarn"
  double factor = 1;       ///< growth of the context length
  double original = 0;     ///< context length in training (llama3, yarn)
  double low_factor = 1;   ///< llama3: pairs with fewer turns in `original` are divided by `factor`
  double high_factor = 4;  ///< llama3: pairs with more turns stay unchanged
  double fast_turns = 32;  ///< yarn: pairs with more turns stay unchanged
  double slow_turns = 1;   ///< yarn: pairs with fewer turns are divided by `factor`
  /// yarn: factor on cosines and sines; empty: 0.1 log(factor) + 1.
  std::optional<double> magnitude{};
};

/// Sets rope_factors and rope_magnitude from heads and rope_base. Throws std::invalid_argument if unknown or
/// unsound. Sources: Chen et al., "Extending context window of large language models via positional
/// interpolation", 2023 (linear); Peng et al., "YaRN", 2023, equations 17 to 22, bounds rounded to whole
/// pairs as Hugging Face and ggml do; Llama 3.1's model.py.
void scale_rotation(LlmConfig& config, const RotaryScaling& scaling);

/// [rows, columns]; for kInt8, scales[r] multiplies row r. Does not own its memory.
struct LlmMatrix {
  std::byte* weights = nullptr;
  Bf16* scales = nullptr;  ///< only for kInt8
  std::size_t rows = 0;
  std::size_t columns = 0;
  LlmFormat format = LlmFormat::kBf16;

  const char* dtype() const { return name_of(format); }
  std::size_t row_bytes() const { return headroom::row_bytes(format, columns); }
  std::size_t bytes() const { return rows * (row_bytes() + (scales == nullptr ? 0 : sizeof(Bf16))); }
};

struct LlmLayer {
  Bf16* attention_norm = nullptr;  ///< [dim]
  LlmMatrix qkv;                   ///< [q_dim + 2 kv_dim, dim]: queries, keys, values; or only queries
  LlmMatrix keys, values;          ///< [kv_dim, dim] if not in `qkv`; else no rows
  float* bias = nullptr;           ///< [q_dim + 2 kv_dim]; null without a bias
  LlmMatrix out;                   ///< [dim, q_dim]
  Bf16* ffn_norm = nullptr;        ///< [dim]
  LlmMatrix gate;                  ///< [experts, dim] of bf16; no rows without experts
  std::vector<LlmMatrix> w1, w3;   ///< [hidden, dim], one per expert
  std::vector<LlmMatrix> w2;       ///< [dim, hidden]
  LlmMatrix shared_gate;  ///< [1, dim] of bf16; this and the next have no rows without a shared expert
  LlmMatrix shared_w1, shared_w3;  ///< [shared_hidden, dim]
  LlmMatrix shared_w2;             ///< [dim, shared_hidden]
};

/// Random weights that keep activations near 1 through any number of layers: linear layers uniform with
/// variance 1 / columns, norms around 1. Depend only on seed and position. Written by all workers, into huge
/// pages if granted.
class LlmWeights {
 public:
  /// Throws std::invalid_argument (see require_valid), std::bad_alloc.
  LlmWeights(const LlmConfig& config, std::uint64_t seed, const Team& team);
  /// Returns zeroes, to be filled from a file.
  static LlmWeights zeroed(const LlmConfig& config, const Team& team);

  const LlmConfig& config() const { return config_; }
  const LlmLayer& layer(std::size_t index) const { return layers_[index]; }
  Bf16* embedding(std::size_t token) const { return embedding_ + token * config_.dim; }
  Bf16* final_norm() const { return final_norm_; }
  const LlmMatrix& output() const { return output_; }  ///< [vocab, dim]

 private:
  LlmWeights(const LlmConfig& config, const Team& team);

  LlmConfig config_;
  std::vector<Buffer> memory_;
  std::vector<LlmLayer> layers_;
  Bf16* embedding_ = nullptr;
  Bf16* final_norm_ = nullptr;
  LlmMatrix output_;
};

/// Saturated as by bytes_of.
std::size_t llm_bytes(const LlmConfig& config);

/// Weights that one token reads, as gpt-fast's benchmark counts: without the embedding and unchosen experts.
struct LlmActivated {
  double parameters = 0;  ///< of matrices, without scales
  double bytes = 0;       ///< of matrices, scales and norms
};
LlmActivated llm_activated(const LlmConfig& config);

}  // namespace headroom
