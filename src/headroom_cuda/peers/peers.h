// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

/// NVIDIA's libraries that do the same, on the same memory, as backends beside "cuda": "cublas" (what cuBLAS
/// picks by itself) and "cublaslt" (the fastest, found by timing them, of the algorithms that cuBLASLt
/// suggests). They are loaded when a case asks for them; where they are missing, it is skipped. Neither
/// multiplies int8 with bf16: such weights are converted in each iteration by a kernel of ours, as torch's
/// eager mode does. Where this was built without their headers, the backends are not there.
namespace headroom::cuda {

/// One or more matrices of [rows, columns] times x of bf16, one behind the other in y.
struct PeerMatrices {
  std::string dtype;  ///< "int8" or "bf16"
  std::size_t rows = 0, columns = 0;
  std::size_t count = 1;                  ///< in one iteration
  std::vector<const std::byte*> first{};  ///< by turn
  std::vector<std::int64_t> apart{};      ///< by turn, in matrices; empty where there is one only
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
};

/// A linear layer; its LayerNorm is a kernel of ours.
struct PeerLayer {
  std::size_t inputs = 0, outputs = 0;
  std::shared_ptr<const DeviceCopies> weights;
  const std::byte* bias = nullptr;
  const MlpWorkload::Layer* parameters = nullptr;  ///< gamma and beta
};
struct PeerChain {
  PeerLayer up, down;
  const std::byte* x = nullptr;
  std::byte* y = nullptr;
};
/// Each linear layer's result is rounded to bf16 before its LayerNorm, which gamma multiplies; the second
/// layer spreads what the first lost.
inline constexpr Tolerance kPeerChainTolerance{.relative = 12 * 0x1p-8};

std::vector<std::string> gemv_peers();
std::vector<std::string> mlp_peers();

/// What State::backend() does, one iteration to a launch; the pointers must stay valid. Skips the case where
/// the library is missing or cannot do it.
Launch peer_launch(State& state, Device& device, const PeerMatrices& matrices);
Launch peer_launch(State& state, Device& device, const PeerChain& chain);

}  // namespace headroom::cuda
