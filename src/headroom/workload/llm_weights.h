// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "headroom/experiment/bf16.h"
#include "headroom/experiment/buffer.h"
#include "headroom/workload/llm_config.h"
#include "headroom/workload/team.h"

namespace headroom {

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
  LlmMatrix qkv;                   ///< [dim + 2 kv_dim, dim]: queries, keys, values; or queries [dim, dim]
  LlmMatrix keys, values;          ///< [kv_dim, dim] where they are not in `qkv`; else no rows
  float* bias = nullptr;           ///< [dim + 2 kv_dim] of these, where there is one
  LlmMatrix out;                   ///< [dim, dim]
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
