// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda/peers/cublas_library.h"
#include "headroom_cuda/peers/peers.h"
#include "headroom_cuda_device/device.h"
#include "headroom_cuda_device/launch.h"

namespace headroom::cuda {

/// Matrices of bf16 times x by cuBLASLt, optionally plus a bias of bf16, to y of bf16.
class CublasLtMatmul {
 public:
  /// Skips the case where the library is missing or has no algorithm for these sizes.
  CublasLtMatmul(State& state, const PeerMatrices& matrices, const std::byte* bias);
  ~CublasLtMatmul();
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  /// Times the algorithms that cuBLASLt suggests, and takes the fastest from then on. Notes of how many.
  void choose_fastest(State& state, Device& device);
  void launch(std::size_t turn, cudaStream_t stream) const;

 private:
  cublasLtMatrixLayout_t layout(std::size_t rows, std::size_t columns, std::int64_t apart) const;
  cublasLtMatrixLayout_t weights_of(std::size_t turn) const;
  void describe(const std::byte* bias);
  void find_algorithms(State& state);

  std::shared_ptr<const CublasLtFunctions> cublas_;
  PeerMatrices matrices_;
  DeviceBuffer workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  std::map<std::int64_t, cublasLtMatrixLayout_t> weights_;  ///< by how far matrices are apart
  cublasLtMatrixLayout_t x_ = nullptr, y_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  std::size_t chosen_ = 0;
};

}  // namespace headroom::cuda
