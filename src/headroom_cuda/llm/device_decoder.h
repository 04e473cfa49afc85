// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/llm_reference.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda/kernels/token_pass.h"
#include "headroom_cuda/llm/device_llm.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_graphs.h"

namespace headroom::cuda {

/// How tokens are drawn.
struct Sampling {
  std::size_t top_k = 1;
  float temperature = 1;
  std::uint64_t seed = 0;
};

/// A model that decodes one sequence on a GPU. A pass takes the next token of the sequence, which lies on the
/// device as all else does, through all layers, as one graph; with logits it draws the token behind it. The
/// residual stream is in f32; what a matrix is multiplied with is rounded to bf16, or to f16 where the matrix
/// is of int8, keys and values to bf16.
class DeviceDecoder {
 public:
  /// Room for `positions` tokens. `device` and `model` must outlive it. Times the forms of its kernels that
  /// the model's matrices may be streamed by, and takes the fastest of each.
  DeviceDecoder(const State& state, Device& device, const DeviceLlm& model, std::size_t positions,
                const Sampling& sampling);

  /// As LlmModel has them (headroom/workload/llm_workload.h).
  std::span<const float> forward(std::span<const std::int32_t> tokens);
  std::int32_t sample() const;
  void rewind();
  const LlmRouting& routing() const { return routing_; }

  /// Without waiting: the sequence of `tokens` from its beginning, up to the token that is drawn behind it.
  /// The tokens must have been put there (start_with).
  void start_with(std::span<const std::int32_t> tokens);
  void launch_start(std::size_t tokens);
  /// Without waiting: the pass of the token that was drawn last, which draws the next.
  void launch_next() const { run(with_logits_); }

  /// "qkv: 1 block of 512, 2 teams, 8 deep, early; ...": what timing chose.
  std::string plans() const;
  std::size_t launches() const { return launches_; }  ///< of a pass with logits

 private:
  enum Kind : std::size_t { kQkv, kOut, kUp, kDown, kLogits, kKinds };
  using Plans = std::array<StreamPlan, kKinds>;
  TokenSequence sequence();
  void launch_pass(const Plans& plans, bool logits);
  void launch_layer(const Plans& plans, std::size_t index);
  GraphExecutable captured(const Plans& plans, bool logits);
  void run(const GraphExecutable& graph) const;
  const StreamedMatrix& matrix_of(std::size_t kind) const;
  bool fits(const StreamPlan& plan, std::size_t kind) const;
  void tune(const State& state);
  double pass_ns(const GraphExecutable& graph);

  Device& device_;
  const DeviceLlm& model_;
  const LlmConfig& config_;
  std::size_t positions_;
  Sampling sampling_;
  DeviceBuffer tokens_, counters_, x_, qkv_, keys_, values_, attended_, hidden_, parts_, finished_, chosen_,
      shares_, routed_, logits_, cosines_, sines_;
  Plans plans_;
  GraphExecutable without_logits_, with_logits_;
  std::size_t launches_ = 0, used_ = 0;
  std::vector<float> host_logits_;
  LlmRouting routing_;
};

}  // namespace headroom::cuda
