// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headroom/experiment/buffer.h"
#include "headroom/workload/llm_reference.h"
#include "headroom/workload/llm_weights.h"
#include "headroom/workload/slice.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/llm/matrix_products.h"
#include "headroom_native/llm/token_kernels.h"
#include "headroom_native/llm/top_k_sampler.h"

namespace headroom::native {

/// Tokens that go through a layer together: their vectors fill half of a second-level cache
/// (matrix_products.cpp).
constexpr std::size_t kLlmRowsAtOnce = 128;

/// Of which tokens of a pass the logits are wanted.
enum class LlmLogits {
  kLast,  ///< of the last one of each sequence
  kAll
};

/// A model that decodes one sequence, or several of the same length at once, on a pool of threads. The
/// residual stream and all arithmetic are in f32; what a matrix is multiplied with, keys and values are
/// rounded to bf16, and of matrices in blocks the weights, too, where many tokens are multiplied with them.
/// Tokens go through the layers together, some at a time, so that the weights are read from memory once for
/// all of them. Of each matrix every worker has its rows; for one token the workers meet five times a layer.
class LlmDecoder {
 public:
  /// Room for `positions` tokens in each of `sequences`. `weights` and `pool` must outlive it.
  LlmDecoder(const LlmWeights& weights, ThreadPool& pool, Isa isa, std::size_t positions, TopKSampler sampler,
             std::size_t sequences = 1);

  const std::string& isa() const { return workers_.front().products.kernel(kernel_format_).isa; }

  /// Puts tokens [sequences, some] behind those before and returns the logits behind them: [sequences, vocab]
  /// or, of all, [sequences, some, vocab], which stay valid until the next call. Throws std::length_error
  /// where there is no room, or no token for each sequence.
  std::span<const float> forward(std::span<const std::int32_t> tokens, LlmLogits wanted = LlmLogits::kLast);
  /// A token for the first sequence, from the last logits.
  std::int32_t sample() { return sampler_.draw(std::span(logits_).first(config_.vocab)); }
  /// To the first `positions` of each sequence.
  void rewind(std::size_t positions = 0);
  /// Puts random keys and values at the first `positions` of each sequence, as if tokens had been there: what
  /// the next ones cost does not depend on what they are.
  void pretend(std::size_t positions, std::uint64_t seed);
  /// Of the first sequence.
  const LlmRouting& routing() const { return routing_; }

  /// The keys (and values) of a key-value head: [positions, head_dim].
  const Bf16* keys(std::size_t layer, std::size_t sequence, std::size_t head) const {
    return keys_[layer].as<Bf16>().data() +
           (sequence * config_.kv_heads + head) * positions_ * config_.head_dim();
  }
  const Bf16* values(std::size_t layer, std::size_t sequence, std::size_t head) const {
    return values_[layer].as<Bf16>().data() +
           (sequence * config_.kv_heads + head) * positions_ * config_.head_dim();
  }

 private:
  /// An expert of a token, and the share that it has in the result.
  struct Share {
    std::uint32_t expert = 0;
    float weight = 1;
  };
  /// What a worker has for itself.
  struct Worker {
    MatrixProducts products;
    std::vector<Bf16> normalised;  ///< [kAlone, dim]
    std::vector<float> scores;     ///< of each expert, or what attention works on
    std::vector<AttentionQuery> queries;
    std::vector<LlmProduct> list;
  };

  std::size_t at_once() const;
  /// Of one sequence, whose heads read a block of keys and values together.
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
  /// The same of the expert that all tokens go through, where there is one.
  void expand_shared(const LlmLayer& layer, std::size_t rows, const Bf16* x, int at, int workers);
  template <typename ShareOf>
  void add_product(const LlmMatrix& matrix, std::span<const Bf16> inputs, std::size_t size, std::size_t rows,
                   int at, int workers, ShareOf share_of);
  void collect_logits(std::size_t rows, LlmLogits wanted);

  void choose_experts(const LlmLayer& layer, std::size_t row, const Bf16* x, Worker& worker);
  void record_routing(std::size_t index, std::size_t rows);
  /// The normalised residual stream of all rows: each worker's own where they are few, else made together.
  const Bf16* normalise(const Bf16* weight, std::size_t rows, int at, int workers);
  /// The products of the rows that `expert` has with x[row] or, where each share has its own, with x[share].
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
  std::size_t each_ = 1;               ///< tokens of a sequence in the pass that is under way
  std::size_t first_row_ = 0;          ///< of the tokens of that pass, the first that goes through now
  std::vector<Buffer> keys_, values_;  ///< of each layer: [sequences, kv_heads, positions, head_dim] of bf16
  std::vector<float> x_;               ///< the residual stream: [rows, dim]
  std::vector<Bf16> normalised_;       ///< [rows, dim]
  std::vector<float> qkv_;             ///< [rows, qkv_rows]
  std::vector<Bf16> attended_;         ///< [rows, dim]
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
