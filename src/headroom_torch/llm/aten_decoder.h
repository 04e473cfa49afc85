// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/ATen.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_model.h"
#include "headroom/workload/llm_workload.h"

namespace headroom::torch_runner {

/// The decoder in ATen's operators, with bf16 between them as in gpt-fast's benchmark. Unlike there, shared
/// heads do not repeat keys and values, attention covers only positions in use, and experts are not gathered.
class AtenDecoder {
 public:
  enum class Int8 {
    kFresh,  ///< convert into a new tensor in each product, as the benchmark
    kIntoPlace
  };

  /// `weights` must outlive it.
  AtenDecoder(const LlmWeights& weights, std::size_t positions, std::int64_t top_k, double temperature,
              Int8 int8);

  /// As LlmDecoder::forward of headroom-native.
  std::span<const float> forward(std::span<const std::int32_t> tokens);
  std::int32_t sample();
  void rewind();
  const LlmRouting& routing() const { return routing_; }

 private:
  struct Matrix {
    at::Tensor weights, scales;  ///< scales: undefined for bf16
  };
  struct Layer {
    at::Tensor attention_norm, ffn_norm, gate;
    Matrix qkv, out;
    std::vector<Matrix> w1, w2, w3;
    at::Tensor keys, values;  ///< [kv_heads, positions, head_dim]
  };

  Matrix matrix_of(const LlmMatrix& matrix);
  Layer layer_of(const LlmLayer& layer, std::size_t positions);
  at::Tensor linear(const Matrix& matrix, const at::Tensor& x);
  at::Tensor norm(const at::Tensor& x, const at::Tensor& weight) const;
  at::Tensor rotated(const at::Tensor& x) const;
  at::Tensor attention(Layer& layer, const at::Tensor& x);
  at::Tensor feed_forward(const Layer& layer, std::size_t index, const at::Tensor& x);
  at::Tensor expert(const Layer& layer, std::size_t index, const at::Tensor& x);

  const LlmConfig& config_;
  std::int64_t top_k_;
  double temperature_;
  Int8 int8_;
  std::int64_t used_ = 0;
  std::vector<Layer> layers_;
  at::Tensor embedding_, final_norm_, cosines_, sines_;
  Matrix output_;
  at::Tensor converted_;  ///< scratch for the largest matrix as bf16
  at::Tensor logits_;     ///< [vocab] of f32
  LlmRouting routing_;
};

/// The axes may override the number of layers.
void llm_decode(State& state, const LlmConfig& config);

}  // namespace headroom::torch_runner
