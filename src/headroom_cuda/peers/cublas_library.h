// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <memory>

#include "headroom/experiment/state.h"
#include "headroom_cuda/device/device_buffer.h"
#include "headroom_cuda/peers/shared_library.h"

namespace headroom::cuda {

/// The functions of cuBLASLt that are called here.
struct CublasLtFunctions {
  SharedLibrary library;
  decltype(cublasLtCreate)* create = nullptr;
  decltype(cublasLtDestroy)* destroy = nullptr;
  decltype(cublasLtMatmul)* matmul = nullptr;
  decltype(cublasLtMatmulAlgoGetHeuristic)* heuristic = nullptr;
  decltype(cublasLtMatmulDescCreate)* make_operation = nullptr;
  decltype(cublasLtMatmulDescDestroy)* destroy_operation = nullptr;
  decltype(cublasLtMatmulDescSetAttribute)* set_of_operation = nullptr;
  decltype(cublasLtMatrixLayoutCreate)* make_layout = nullptr;
  decltype(cublasLtMatrixLayoutDestroy)* destroy_layout = nullptr;
  decltype(cublasLtMatrixLayoutSetAttribute)* set_of_layout = nullptr;
  decltype(cublasLtMatmulPreferenceCreate)* make_preference = nullptr;
  decltype(cublasLtMatmulPreferenceDestroy)* destroy_preference = nullptr;
  decltype(cublasLtMatmulPreferenceSetAttribute)* set_of_preference = nullptr;

  /// Throws Error where the library or one of them is missing.
  CublasLtFunctions();
};

/// Those that C++ has more than one of, as they are in the library.
using CublasGemm = cublasStatus_t(cublasHandle_t handle, cublasOperation_t transpose_a,
                                  cublasOperation_t transpose_b, int m, int n, int k, const void* alpha,
                                  const void* a, cudaDataType type_of_a, int rows_of_a, const void* b,
                                  cudaDataType type_of_b, int rows_of_b, const void* beta, void* c,
                                  cudaDataType type_of_c, int rows_of_c, cublasComputeType_t compute,
                                  cublasGemmAlgo_t algorithm);
using CublasGemmBatched = cublasStatus_t(cublasHandle_t handle, cublasOperation_t transpose_a,
                                         cublasOperation_t transpose_b, int m, int n, int k,
                                         const void* alpha, const void* a, cudaDataType type_of_a,
                                         int rows_of_a, long long apart_in_a, const void* b,
                                         cudaDataType type_of_b, int rows_of_b, long long apart_in_b,
                                         const void* beta, void* c, cudaDataType type_of_c, int rows_of_c,
                                         long long apart_in_c, int count, cublasComputeType_t compute,
                                         cublasGemmAlgo_t algorithm);

/// The functions of cuBLAS that are called here.
struct CublasFunctions {
  CublasLtFunctions lt;  ///< which the library of cuBLAS needs
  SharedLibrary library;
  decltype(cublasCreate_v2)* create = nullptr;
  decltype(cublasDestroy_v2)* destroy = nullptr;
  decltype(cublasGetVersion_v2)* version = nullptr;
  decltype(cublasSetStream_v2)* set_stream = nullptr;
  decltype(cublasSetWorkspace_v2)* set_workspace = nullptr;
  CublasGemm* gemm = nullptr;
  CublasGemmBatched* gemm_batched = nullptr;

  CublasFunctions();
};

/// Throws Error where a call of cuBLAS or cuBLASLt failed.
void check_cublas(cublasStatus_t status, const char* call);

/// Loads a library for a case; skips it where that is missing.
template <typename Functions>
std::shared_ptr<const Functions> loaded(State& state) {
  try {
    return state.shared<Functions>("functions", [] { return std::make_shared<Functions>(); });
  } catch (const std::exception& missing) {
    state.skip(missing.what());
  }
}

/// What both libraries may use beside the operands, so that they allocate nothing while they run: what NVIDIA
/// recommends for Hopper.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

}  // namespace headroom::cuda
