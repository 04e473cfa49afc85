// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/cublas_library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "headroom/base/error.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {
namespace {

std::vector<std::string> folders() {
  std::vector<std::string> found{""};
  for (const std::string& root : toolkit_roots()) found.push_back(root + "/lib64/");
  return found;
}

}  // namespace

SharedLibrary::SharedLibrary(const std::vector<std::string>& names) {
  std::string refusal;
  for (const std::string& name : names) {
    for (const std::string& folder : folders()) {
      try {
        // Global scope: one library may need symbols of the other.
        library_ = std::make_shared<LoadedLibrary>(folder + name, LoadedLibrary::Scope::kGlobal);
        library_->keep();
        name_ = name;
        return;
      } catch (const Error& error) {
        if (refusal.empty()) refusal = error.what();
      }
    }
  }
  throw Error(
      fmt::format("cannot load any of {} from the loader's path or from {} ({}): install it, or add its "
                  "folder to LD_LIBRARY_PATH",
                  fmt::join(names, ", "), folders().back(), refusal));
}

void SharedLibrary::throw_missing(const char* function) const {
  throw Error(fmt::format("{} has no function {}", name_, function));
}

CublasLtFunctions::CublasLtFunctions() : library({"libcublasLt.so.13", "libcublasLt.so.12"}) {
  library.find("cublasLtCreate", create);
  library.find("cublasLtDestroy", destroy);
  library.find("cublasLtMatmul", matmul);
  library.find("cublasLtMatmulAlgoGetHeuristic", heuristic);
  library.find("cublasLtMatmulDescCreate", make_operation);
  library.find("cublasLtMatmulDescDestroy", destroy_operation);
  library.find("cublasLtMatmulDescSetAttribute", set_of_operation);
  library.find("cublasLtMatrixLayoutCreate", make_layout);
  library.find("cublasLtMatrixLayoutDestroy", destroy_layout);
  library.find("cublasLtMatrixLayoutSetAttribute", set_of_layout);
  library.find("cublasLtMatmulPreferenceCreate", make_preference);
  library.find("cublasLtMatmulPreferenceDestroy", destroy_preference);
  library.find("cublasLtMatmulPreferenceSetAttribute", set_of_preference);
}

CublasFunctions::CublasFunctions() : library({"libcublas.so.13", "libcublas.so.12"}) {
  library.find("cublasCreate_v2", create);
  library.find("cublasDestroy_v2", destroy);
  library.find("cublasGetVersion_v2", version);
  library.find("cublasSetStream_v2", set_stream);
  library.find("cublasSetWorkspace_v2", set_workspace);
  library.find("cublasGemmEx", gemm);
  library.find("cublasGemmStridedBatchedEx", gemm_batched);
}

void check_cublas(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  throw Error(fmt::format("{} failed with status {}", call, static_cast<int>(status)));
}

}  // namespace headroom::cuda
