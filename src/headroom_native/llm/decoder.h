// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/workload/llm_model.h"
#include "headroom/workload/llm_workload.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/gemm_kernel.h"
#include "headroom_native/kernels/gemv/gemv_kernel.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/llm/token_kernels.h"

namespace headroom::native {

/// A vector and its product with a matrix: one sum per row.
struct LlmProduct {
  const Bf16* x;
  float* sums;
};

/// Products of one worker. Multiplies few vectors one by one with the weights as stored; for many, unpacks
/// each weight once.
class MatrixProducts {
 public:
  /// For matrices of at most `columns` columns.
  MatrixProducts(Isa isa, std::size_t columns);

  void multiply(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products);

  const GemvKernel& kernel(LlmFormat format) const { return kernels_[static_cast<std::size_t>(format)]; }

 private:
  void multiply_few(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products);
  void multiply_many(const LlmMatrix& matrix, Slice rows, std::span<const LlmProduct> products);
  void multiply_rows(const LlmMatrix& matrix, Slice rows, Slice columns,
                     std::span<const LlmProduct> products);

  std::array<GemvKernel, std::size(kLlmFormats)> kernels_;  ///< by LlmFormat
  GemmKernel many_;
  UnpackSuperBlocks unpack_super_;
  std::vector<Buffer> prepared_;  ///< one per vector, for few vectors
  Buffer unpacked_;               ///< [many_.rows, columns] of bf16
  std::vector<const Bf16*> vectors_;
  std::vector<float*> sums_;
};

/// dtype of the peak that bounds MatrixProducts: "int8" for fixed-point x, else "bf16".
const char* dtype_of_products(LlmFormat format, std::size_t vectors, Isa isa);

/// softmax(logits / temperature) over the k largest logits and ties, as in gpt-fast's benchmark.
class TopKSampler {
 public:
  /// `top_k` >= 1, `temperature` > 0.
  TopKSampler(std::size_t top_k, float temperature, std::uint64_t seed, Isa isa);

  /// Never draws a NaN (0 if all are NaN); always draws an infinite logit.
  std::int32_t draw(std::span<const float> logits);

  struct Candidate {
    float logit;
    std::uint32_t token;
  };
  /// Candidates of `draw`, unordered.
  std::span<const Candidate> candidates(std::span<const float> logits);

 private:
  void keep_largest();

  std::size_t top_k_;
  float temperature_;
  std::mt19937_64 random_;
  TokenKernels kernels_;
  std::vector<Candidate> kept_;
  float threshold_ = 0;  ///< smaller logits are not among the k largest
};

/// Returns the first of the largest logits.
std::int32_t greedy_token(std::span<const float> logits);

/// Their vectors fill half of a typical L2.
constexpr std::size_t kLlmRowsAtOnce = 128;

enum class LlmLogits {
  kLast,  ///< last token of each sequence
  kAll
};

/// Sequences of equal length. Residual stream and arithmetic are f32; inputs of matrices, keys and values are
/// rounded to bf16, and so are weights in blocks for many tokens. Up to kLlmRowsAtOnce tokens share a layer's
/// weights. A pass of one token has five barriers per layer.
class LlmDecoder {
 public:
  /// `weights` and `pool` must outlive it.
  LlmDecoder(const LlmWeights& weights, ThreadPool& pool, Isa isa, std::size_t positions, TopKSampler sampler,
             std::size_t sequences = 1);

  const std::string& isa() const { return workers_.front().products.kernel(kernel_format_).isa; }

  /// Appends tokens [sequences, some]. Returns logits [sequences, vocab], or [sequences, some, vocab] for
  /// kAll, valid until the next call. Throws std::length_error without room or one token per sequence.
  std::span<const float> forward(std::span<const std::int32_t> tokens, LlmLogits wanted = LlmLogits::kLast);
  /// Samples for the first sequence.
  std::int32_t sample() { return sampler_.draw(std::span(logits_).first(config_.vocab)); }
  /// Keeps the first `positions` of each sequence.
  void rewind(std::size_t positions = 0);
  /// Random keys and values for the first `positions`; the cost of later tokens does not depend on them.
  void fill_random_cache(std::size_t positions, std::uint64_t seed);
  /// Of the first sequence.
  const LlmRouting& routing() const { return routing_; }

  /// Return [positions, head_dim] of a key-value head.
  const Bf16* keys(std::size_t layer, std::size_t sequence, std::size_t head) const {
    return keys_[layer].as<Bf16>().data() +
           (sequence * config_.kv_heads + head) * positions_ * config_.head_dim();
  }
  const Bf16* values(std::size_t layer, std::size_t sequence, std::size_t head) const {
    return values_[layer].as<Bf16>().data() +
           (sequence * config_.kv_heads + head) * positions_ * config_.head_dim();
  }

 private:
  struct Share {
    std::uint32_t expert = 0;
    float weight = 1;
  };
  struct Worker {
    MatrixProducts products;
    std::vector<Bf16> normalised;  ///< [kAlone, dim]
    std::vector<float> scores;     ///< per expert, or scratch of attention
    std::vector<AttentionQuery> queries;
    std::vector<LlmProduct> list;
  };

  std::size_t at_once() const;
  /// Their heads read a block of keys and values together.
  std::size_t rows_together() const;
  std::size_t position_of(std::size_t row) const { return used_ + (first_row_ + row) % each_; }
  std::size_t sequence_of(std::size_t row) const { return (first_row_ + row) / each_; }

  void run_rows(std::span<const std::int32_t> tokens);
  void run_layer(std::size_t index, std::size_t rows);
  void keep(std::size_t layer, std::size_t row, std::size_t kv_head);
  void attend(std::size_t layer, Slice rows, std::size_t kv_head, Worker& worker);
  void attend_rows(std::size_t layer, std::size_t rows, int at, int workers);
  void project_back(const LlmLayer& layer, std::size_t rows, int at, int workers);
  void expand(const LlmLayer& layer, std::size_t rows, int at, int workers);
  void contract(const LlmLayer& layer, std::size_t rows, int at, int workers);
  void expand_shared(const LlmLayer& layer, std::size_t rows, const Bf16* x, int at, int workers);
  template <typename ShareOf>
  void add_product(const LlmMatrix& matrix, std::span<const Bf16> inputs, std::size_t size, std::size_t rows,
                   int at, int workers, ShareOf share_of);
  void collect_logits(std::size_t rows, LlmLogits wanted);

  void choose_experts(const LlmLayer& layer, std::size_t row, const Bf16* x, Worker& worker);
  void record_routing(std::size_t index, std::size_t rows);
  /// In each worker for few rows, else together.
  const Bf16* normalise(const Bf16* weight, std::size_t rows, int at, int workers);
  /// Rows routed to `expert`, with inputs x[row], or x[share] if `of_shares`.
  std::span<const LlmProduct> products_of(std::size_t expert, std::size_t rows, const Bf16* x, bool of_shares,
                                          std::size_t columns, std::vector<float>& sums, std::size_t size,
                                          Worker& worker) const;

  const LlmWeights& weights_;
  const LlmConfig& config_;
  ThreadPool& pool_;
  LlmFormat kernel_format_;
  TokenKernels token_;
  TopKSampler sampler_;
  RotaryTable rotary_;
  std::size_t positions_, sequences_;
  std::size_t used_ = 0;               ///< positions that hold tokens
  std::size_t each_ = 1;               ///< tokens per sequence in the current pass
  std::size_t first_row_ = 0;          ///< first token of the pass that is in the layers now
  std::vector<Buffer> keys_, values_;  ///< per layer: [sequences, kv_heads, positions, head_dim] of bf16
  std::vector<float> x_;               ///< residual stream: [rows, dim]
  std::vector<Bf16> normalised_;       ///< [rows, dim]
  std::vector<float> qkv_;             ///< [rows, qkv_rows]
  std::vector<Bf16> attended_;         ///< [rows, q_dim]
  std::vector<float> sums_;            ///< [rows, chosen, dim]
  std::vector<float> gate_, up_;       ///< [rows, chosen, hidden]
  std::vector<Bf16> hidden_;           ///< [rows, chosen, hidden]
  std::vector<Share> shares_;          ///< [rows, chosen]
  std::vector<float> shared_share_;    ///< [rows]
  std::vector<float> shared_gate_, shared_up_;  ///< [rows, shared_hidden]
  std::vector<Bf16> shared_in_;                 ///< [rows, shared_hidden]
  std::vector<float> logits_;
  LlmRouting routing_;
  std::vector<Worker> workers_;
};

}  // namespace headroom::native
