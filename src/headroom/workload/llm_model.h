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
  std::size_t head_size = 0;  ///< of a head; 0: dim / heads
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

  std::size_t head_dim() const { return head_size > 0 ? head_size : dim / heads; }
  std::size_t q_dim() const { return heads * head_dim(); }
  std::size_t kv_dim() const { return kv_heads * head_dim(); }
  std::size_t qkv_rows() const { return q_dim() + 2 * kv_dim(); }
  bool is_gated() const { return experts > 1; }
  LlmLayerFormats formats_of(std::size_t layer) const;
  LlmFormat output_format() const { return llm_format(output_dtype.empty() ? dtype : output_dtype); }
};

/// Llama 2 7B, and Mixtral 8x7B halved to 16 layers as gpt-fast's benchmark has it. Sources: the models'
/// published configurations; benchmarks/gpt_fast/model.py and mixtral_moe_model.py of PyTorch.
LlmConfig llama2_7b(const std::string& dtype);
LlmConfig mixtral_8x7b(const std::string& dtype);

/// Throws std::invalid_argument where the shapes do not fit together: heads that do not divide dim and have
/// no size, an odd head, kv_heads that do not divide heads, more experts chosen than there are.
void require_sound(const LlmConfig& config);

/// How a model's rotation was stretched for contexts longer than those it was trained with, as its file
/// declares it.
struct RotaryScaling {
  std::string kind;        ///< "none", "default", "linear", "llama3" or "yarn"
  double factor = 1;       ///< by which contexts became longer
  double original = 0;     ///< positions that the model was trained with (llama3, yarn)
  double low_factor = 1;   ///< llama3: turns in `original` positions below which a pair is stretched whole
  double high_factor = 4;  ///< llama3: turns above which one stays as it is
  double fast_turns = 32;  ///< yarn: above them one stays as it is
  double slow_turns = 1;   ///< yarn: below them one is stretched whole
  /// yarn: what cosines and sines are multiplied with; without it 0.1 log(factor) + 1.
  std::optional<double> magnitude{};
};

/// Sets rope_factors and rope_magnitude of `config` (which has its heads and rope_base). Throws
/// std::invalid_argument with what is not known or not sound. Sources: Chen et al., "Extending context window
/// of large language models via positional interpolation", 2023 (linear); Peng et al., "YaRN", 2023,
/// equations 17 to 22, with the bounds rounded to whole pairs as Hugging Face and ggml do; Llama 3.1's
/// model.py.
void scale_rotation(LlmConfig& config, const RotaryScaling& scaling);

/// A matrix [rows, columns]; of int8 row r counts scales[r] times.
struct LlmMatrix {
  std::byte* weights = nullptr;
  Bf16* scales = nullptr;  ///< of kInt8 alone
  std::size_t rows = 0;
  std::size_t columns = 0;
  LlmFormat format = LlmFormat::kBf16;

  const char* dtype() const { return name_of(format); }
  std::size_t row_bytes() const { return headroom::row_bytes(format, columns); }
  /// Of weights and scales.
  std::size_t bytes() const { return rows * (row_bytes() + (scales == nullptr ? 0 : sizeof(Bf16))); }
};

struct LlmLayer {
  Bf16* attention_norm = nullptr;  ///< [dim]
  LlmMatrix qkv;                   ///< [q_dim + 2 kv_dim, dim]: queries, keys, values; or queries alone
  LlmMatrix keys, values;          ///< [kv_dim, dim] where they are not in `qkv`; else no rows
  float* bias = nullptr;           ///< [q_dim + 2 kv_dim] of these, where there is one
  LlmMatrix out;                   ///< [dim, q_dim]
  Bf16* ffn_norm = nullptr;        ///< [dim]
  LlmMatrix gate;                  ///< [experts, dim] of bf16; no rows without experts
  std::vector<LlmMatrix> w1, w3;   ///< [hidden, dim], one for each expert
  std::vector<LlmMatrix> w2;       ///< [dim, hidden]
  LlmMatrix shared_gate;           ///< [1, dim] of bf16; like the next ones no rows without such an expert
  LlmMatrix shared_w1, shared_w3;  ///< [shared_hidden, dim]
  LlmMatrix shared_w2;             ///< [dim, shared_hidden]
};

/// Random weights that keep activations near 1 through any number of layers: those of linear layers are
/// uniform with variance 1 / columns, those of the norms lie around 1. They depend on the seed and their
/// place alone. Written once, by all workers of the team, into huge pages where the kernel gives them.
class LlmWeights {
 public:
  /// Throws std::invalid_argument (see require_sound), std::bad_alloc.
  LlmWeights(const LlmConfig& config, std::uint64_t seed, const Team& team);
  /// All zeros, to be filled by who read them from a file.
  static LlmWeights unfilled(const LlmConfig& config, const Team& team);

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

/// What the weights take in memory. The largest number that State::require_memory understands where it would
/// not fit.
std::size_t llm_bytes(const LlmConfig& config);

/// What one token reads of the weights, as gpt-fast's benchmark counts it: all but the embedding, and of the
/// experts those that are chosen.
struct LlmActivated {
  double parameters = 0;  ///< of matrices, scales not counted
  double bytes = 0;       ///< of matrices, scales and norms
};
LlmActivated llm_activated(const LlmConfig& config);

}  // namespace headroom
