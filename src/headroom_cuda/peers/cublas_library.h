// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>
#include <cublas_v2.h>

#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/process/loaded_library.h"
#include "headroom_cuda/device/device_case.h"

namespace headroom::cuda {

/// A library loaded at run time; it stays loaded.
class SharedLibrary {
 public:
  /// Loads the first of `names` that the loader or CUDA_HOME, CUDA_PATH and /usr/local/cuda have. Throws
  /// Error with the places searched.
  explicit SharedLibrary(const std::vector<std::string>& names);

  /// Throws Error if the function is missing.
  template <typename Function>
  void find(const char* function, Function*& found) const {
    found = library_->function<Function>(function);
    if (found == nullptr) throw_missing(function);
  }
  const std::string& name() const { return name_; }

 private:
  [[noreturn]] void throw_missing(const char* function) const;

  std::string name_;
  std::shared_ptr<LoadedLibrary> library_;
};

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

  /// Throws Error if the library or a function is missing.
  CublasLtFunctions();
};

/// Overloaded in C++: their types in the library.
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

struct CublasFunctions {
  CublasLtFunctions lt;  ///< cuBLAS depends on it
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

/// Throws Error if the call failed.
void check_cublas(cublasStatus_t status, const char* call);

template <typename Functions>
std::shared_ptr<const Functions> loaded(State& state) {
  try {
    return state.shared<Functions>("functions", [] { return std::make_shared<Functions>(); });
  } catch (const std::exception& missing) {
    state.skip(missing.what());
  }
}

/// Of both libraries, which then allocate nothing at run time. NVIDIA recommends this size for Hopper.
inline constexpr std::size_t kWorkspaceBytes = std::size_t{32} << 20;

}  // namespace headroom::cuda
