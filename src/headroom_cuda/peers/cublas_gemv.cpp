// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/cublas_gemv.h"

#include <fmt/format.h>

#include "headroom_cuda/peers/cublas_library.h"

namespace headroom::cuda {
namespace {

class CublasGemv {
 public:
  CublasGemv(State& state, Device& device, PeerMatrices matrices)
      : cublas_(loaded<CublasFunctions>(state)),
        matrices_(std::move(matrices)),
        workspace_(state, kWorkspaceBytes) {
    if (cublas_->create(&handle_) != CUBLAS_STATUS_SUCCESS) {
      state.skip(cublas_->library.name() + " does not work with this device and driver");
    }
    check_cublas(cublas_->set_stream(handle_, device.stream()), "cublasSetStream");
    check_cublas(cublas_->set_workspace(handle_, workspace_.data(), workspace_.bytes()),
                 "cublasSetWorkspace");
    int version = 0;
    check_cublas(cublas_->version(handle_, &version), "cublasGetVersion");
    state.note("cublas", std::to_string(version));
  }
  ~CublasGemv() {
    if (handle_ != nullptr) cublas_->destroy(handle_);
  }
  CublasGemv(const CublasGemv&) = delete;
  CublasGemv& operator=(const CublasGemv&) = delete;

  /// cuBLAS counts columns first: W[rows, columns] is the transpose of what it sees.
  void launch(std::size_t turn) const {
    constexpr cudaDataType kBf16 = CUDA_R_16BF;
    const auto rows = static_cast<int>(matrices_.rows);
    const auto columns = static_cast<int>(matrices_.columns);
    const long long apart = matrices_.apart.empty() ? 0 : matrices_.apart[turn] * rows * columns;
    const float one = 1, zero = 0;
    if (matrices_.count == 1) {
      check_cublas(cublas_->gemm(handle_, CUBLAS_OP_T, CUBLAS_OP_N, rows, 1, columns, &one,
                                 matrices_.first[turn], kBf16, columns, matrices_.x, kBf16, columns, &zero,
                                 matrices_.y, kBf16, rows, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                   "cublasGemmEx");
      return;
    }
    check_cublas(cublas_->gemm_batched(
                     handle_, CUBLAS_OP_T, CUBLAS_OP_N, rows, 1, columns, &one, matrices_.first[turn], kBf16,
                     columns, apart, matrices_.x, kBf16, columns, 0, &zero, matrices_.y, kBf16, rows, rows,
                     static_cast<int>(matrices_.count), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
                 "cublasGemmStridedBatchedEx");
  }

 private:
  std::shared_ptr<const CublasFunctions> cublas_;
  PeerMatrices matrices_;
  DeviceBuffer workspace_;
  cublasHandle_t handle_ = nullptr;
};

}  // namespace

Launch cublas_launch(State& state, Device& device, const PeerMatrices& matrices) {
  const auto gemv = std::make_shared<const CublasGemv>(state, device, matrices);
  return [gemv](std::size_t turn, cudaStream_t /*stream*/) { gemv->launch(turn); };
}

}  // namespace headroom::cuda
