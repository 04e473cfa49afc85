// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_weights.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda/kernels/streamed_problem.h"

namespace headroom::cuda {

/// The weights of a model on the device, laid out as its kernels stream them: rows of W1 and W3 take turns,
/// experts lie one behind the other.
class DeviceLlm {
 public:
  struct Layer {
    const std::uint16_t* attention_norm = nullptr;
    const std::uint16_t* ffn_norm = nullptr;
    const std::uint16_t* gate = nullptr;  ///< null without experts
    StreamedMatrix qkv, out, up, down;
  };

  /// Uploads `weights`. Skips the case where the device has not as much memory, and with what it is that the
  /// kernels cannot do where they cannot.
  DeviceLlm(const State& state, const LlmWeights& weights);

  const LlmConfig& config() const { return config_; }
  const Layer& layer(std::size_t index) const { return layers_[index]; }
  const std::uint16_t* embedding() const { return embedding_; }
  const std::uint16_t* final_norm() const { return final_norm_; }
  const StreamedMatrix& output() const { return output_; }
  /// Of all matrices: "int8" or "bf16".
  const char* dtype() const { return config_.dtype.c_str(); }

 private:
  const std::uint16_t* vector(const State& state, const Bf16* values, std::size_t count);
  StreamedMatrix matrix(const State& state, const std::vector<std::vector<const LlmMatrix*>>& stack);

  LlmConfig config_;
  std::vector<DeviceBuffer> memory_;
  std::vector<Layer> layers_;
  const std::uint16_t* embedding_ = nullptr;
  const std::uint16_t* final_norm_ = nullptr;
  StreamedMatrix output_;
};

}  // namespace headroom::cuda
