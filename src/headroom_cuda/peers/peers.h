// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/workload/gpt_fast_workloads.h"
#include "headroom_cuda/device/device_case.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch_timer.h"

/// External kernels: "cublas" (its default algorithm) and "cublaslt" (the fastest suggested one, by timing).
/// Skips a case without the library. Neither multiplies int8 with bf16: our kernel converts such weights in
/// each iteration, like torch's eager mode. Builds without the headers lack these backends.
namespace headroom::cuda {

/// [rows, columns], times x of bf16; results are consecutive in y.
struct PeerMatrices {
  std::string dtype;  ///< "int8" or "bf16"
  std::size_t rows = 0, columns = 0;
  std::size_t count = 1;                  ///< per iteration
  std::vector<const std::byte*> first{};  ///< by turn
  std::vector<std::int64_t> apart{};      ///< by turn, in matrices; empty for a single matrix
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
/// Linear results are rounded to bf16 before LayerNorm, which scales the error by gamma; the second layer
/// spreads the first's error.
inline constexpr Tolerance kPeerChainTolerance{.relative = 12 * 0x1p-8};

std::vector<std::string> gemv_peers();
std::vector<std::string> mlp_peers();

/// An iteration of State::backend(); the pointers must stay valid. Skips the case without the library or its
/// support.
Launch peer_launch(State& state, Device& device, const PeerMatrices& matrices);
Launch peer_launch(State& state, Device& device, const PeerChain& chain);

}  // namespace headroom::cuda
