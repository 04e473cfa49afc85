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
#include "headroom_native/kernels/gemv_kernel.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/llm/token_kernels.h"
#include "headroom_native/llm/top_k_sampler.h"

namespace headroom::native {

/// A model that decodes one sequence on a pool of threads. The residual stream and all arithmetic are in f32;
/// what a matrix is multiplied with, keys and values are rounded to bf16. Tokens of a prompt go through the
/// layers together, a few at a time, so that the weights are read from memory once for all of them. Of each
/// matrix every worker has its rows; the workers meet five times a layer.
class LlmDecoder {
 public:
  /// Room for `positions` tokens. `weights` and `pool` must outlive it.
  LlmDecoder(const LlmWeights& weights, ThreadPool& pool, Isa isa, std::size_t positions,
             TopKSampler sampler);

  const std::string& isa() const { return kernel_.isa; }

  /// Puts `tokens` (at least one) behind those before and returns the logits behind the last of them, which
  /// stay valid until the next call. Throws std::length_error where there is no room.
  std::span<const float> forward(std::span<const std::int32_t> tokens);
  std::int32_t sample() { return sampler_.draw(logits_); }
  void rewind();
  const LlmRouting& routing() const { return routing_; }

 private:
  /// A vector in the form that a gemv reads, and where the products go.
  struct Product {
    const std::byte* prepared;
    float* sums;
  };
  /// An expert of a token, and the share that it has in the result.
  struct Share {
    std::uint32_t expert = 0;
    float weight = 1;
  };
  /// What a worker has for itself.
  struct Worker {
    std::vector<Bf16> vector;      ///< [dim]
    std::vector<Buffer> prepared;  ///< of each token, or of each share
    Buffer prepared_gate;
    std::vector<float> scores;  ///< of each position, or each expert
    std::vector<Share> shares;  ///< of each token, `chosen` each
    std::vector<Product> products;
  };

  void forward_some(std::span<const std::int32_t> tokens);
  void run_layer(std::size_t index, std::size_t tokens);
  void attend(std::size_t index, std::size_t tokens, std::size_t kv_head, Worker& worker);
  void expand(const LlmLayer& layer, std::size_t tokens, int index, int workers);
  void contract(const LlmLayer& layer, std::size_t tokens, int index, int workers);
  void project_output(std::size_t token);

  void choose_experts(const LlmLayer& layer, std::size_t token, Worker& worker) const;
  void record_routing(std::size_t index, std::size_t tokens);
  /// The normalised residual stream of `token`, into the worker's own memory.
  const Bf16* normalised(std::size_t token, const Bf16* weight, Worker& worker) const;
  void multiply(const LlmMatrix& matrix, Slice rows, std::span<const Product> products) const;
  /// The products of the tokens that `expert` has: of slot `token`, or of the slot of each share.
  std::span<const Product> products_of(std::size_t expert, std::size_t tokens, bool slot_for_each_share,
                                       std::vector<float>& sums, std::size_t rows, Worker& worker) const;

  const LlmWeights& weights_;
  const LlmConfig& config_;
  ThreadPool& pool_;
  GemvKernel kernel_, gate_kernel_;
  TokenKernels token_;
  TopKSampler sampler_;
  RotaryTable rotary_;
  std::size_t positions_;
  std::size_t used_ = 0;               ///< positions that hold tokens
  std::vector<Buffer> keys_, values_;  ///< of each layer: [kv_heads, positions, head_dim] of bf16
  std::vector<float> x_;               ///< the residual stream: [tokens, dim]
  std::vector<float> qkv_;             ///< [tokens, qkv_rows]
  std::vector<Bf16> attended_;         ///< [tokens, dim]
  std::vector<float> sums_;            ///< [tokens, chosen, dim]
  std::vector<float> gate_, up_;       ///< [tokens, chosen, hidden]
  std::vector<Bf16> hidden_;           ///< [tokens, chosen, hidden]
  std::vector<float> logits_;
  LlmRouting routing_;
  std::vector<Worker> workers_;
};

}  // namespace headroom::native
