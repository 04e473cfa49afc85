// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/cublaslt_matmul.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

constexpr int kMostAlgorithms = 16;

/// The largest power of two, up to 256, that every matrix begins at a multiple of.
std::uint32_t alignment_of(const PeerMatrices& matrices) {
  std::uintptr_t all = 256;
  for (const std::byte* first : matrices.first) all |= reinterpret_cast<std::uintptr_t>(first);
  for (const std::int64_t apart : matrices.apart) {
    all |= static_cast<std::uintptr_t>(apart) * matrices.rows * matrices.columns * sizeof(std::uint16_t);
  }
  return 1U << std::countr_zero(static_cast<std::uint32_t>(all));
}

}  // namespace

CublasLtMatmul::CublasLtMatmul(State& state, const PeerMatrices& matrices, const std::byte* bias)
    : cublas_(loaded<CublasLtFunctions>(state)), matrices_(matrices), workspace_(state, kWorkspaceBytes) {
  if (cublas_->create(&handle_) != CUBLAS_STATUS_SUCCESS) {
    state.skip(cublas_->library.name() + " does not work with this device and driver");
  }
  describe(bias);
  find_algorithms(state);
}

CublasLtMatmul::~CublasLtMatmul() {
  for (const auto& [apart, layout] : weights_) cublas_->destroy_layout(layout);
  if (x_ != nullptr) cublas_->destroy_layout(x_);
  if (y_ != nullptr) cublas_->destroy_layout(y_);
  if (operation_ != nullptr) cublas_->destroy_operation(operation_);
  if (handle_ != nullptr) cublas_->destroy(handle_);
}

cublasLtMatrixLayout_t CublasLtMatmul::layout(std::size_t rows, std::size_t columns,
                                              std::int64_t apart) const {
  cublasLtMatrixLayout_t made = nullptr;
  check_cublas(cublas_->make_layout(&made, CUDA_R_16BF, rows, columns, static_cast<std::int64_t>(rows)),
               "cublasLtMatrixLayoutCreate");
  const auto count = static_cast<std::int32_t>(matrices_.count);
  check_cublas(cublas_->set_of_layout(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
               "cublasLtMatrixLayoutSetAttribute");
  check_cublas(
      cublas_->set_of_layout(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof apart),
      "cublasLtMatrixLayoutSetAttribute");
  return made;
}

/// cuBLASLt counts columns first: W[rows, columns] is the transpose of what it sees.
void CublasLtMatmul::describe(const std::byte* bias) {
  check_cublas(cublas_->make_operation(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F),
               "cublasLtMatmulDescCreate");
  const auto set = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    check_cublas(cublas_->set_of_operation(operation_, attribute, &value, sizeof value),
                 "cublasLtMatmulDescSetAttribute");
  };
  set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  if (bias != nullptr) {
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
    set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, CUDA_R_16BF);
  }
  const auto matrix = static_cast<std::int64_t>(matrices_.rows * matrices_.columns);
  const std::vector<std::int64_t> none{0};
  for (const std::int64_t apart : matrices_.apart.empty() ? none : matrices_.apart) {
    if (!weights_.contains(apart)) {
      weights_[apart] = layout(matrices_.columns, matrices_.rows, apart * matrix);
    }
  }
  x_ = layout(matrices_.columns, 1, 0);
  y_ = layout(matrices_.rows, 1, static_cast<std::int64_t>(matrices_.rows));
}

cublasLtMatrixLayout_t CublasLtMatmul::weights_of(std::size_t turn) const {
  return weights_.at(matrices_.apart.empty() ? 0 : matrices_.apart[turn]);
}

void CublasLtMatmul::find_algorithms(State& state) {
  cublasLtMatmulPreference_t preference = nullptr;
  check_cublas(cublas_->make_preference(&preference), "cublasLtMatmulPreferenceCreate");
  const std::size_t bytes = workspace_.bytes();
  const std::uint32_t alignment = alignment_of(matrices_);
  cublas_->set_of_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
  cublas_->set_of_preference(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
                             sizeof alignment);
  std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results{};
  int found = 0;
  const cublasStatus_t status = cublas_->heuristic(handle_, operation_, weights_of(0), x_, y_, y_, preference,
                                                   kMostAlgorithms, results.data(), &found);
  cublas_->destroy_preference(preference);
  if (status == CUBLAS_STATUS_SUCCESS) {
    for (int i = 0; i < found; ++i) {
      const auto& result = results[static_cast<std::size_t>(i)];
      if (result.state == CUBLAS_STATUS_SUCCESS) algorithms_.push_back(result.algo);
    }
  }
  if (algorithms_.empty()) {
    state.skip(fmt::format("cuBLASLt has no algorithm for bf16[{},{}] times a vector", matrices_.rows,
                           matrices_.columns));
  }
}

void CublasLtMatmul::choose_fastest(State& state, Device& device) {
  constexpr std::uint64_t kIterations = 20;
  double best = std::numeric_limits<double>::infinity();
  std::size_t fastest = 0;
  const Launch launch_it = [&](std::size_t turn, cudaStream_t stream) { launch(turn, stream); };
  for (std::size_t i = 0; i < algorithms_.size(); ++i) {
    chosen_ = i;
    LaunchTimer timer(device, launch_it, matrices_.first.size());
    timer.time(kIterations);
    const double time = std::min(timer.time(kIterations), timer.time(kIterations));
    if (time < best) {
      best = time;
      fastest = i;
    }
  }
  chosen_ = fastest;
  state.note("algorithms", fmt::format("the fastest of {} that cuBLASLt suggests", algorithms_.size()));
}

void CublasLtMatmul::launch(std::size_t turn, cudaStream_t stream) const {
  const float one = 1, zero = 0;
  check_cublas(cublas_->matmul(handle_, operation_, &one, matrices_.first[turn], weights_of(turn),
                               matrices_.x, x_, &zero, matrices_.y, y_, matrices_.y, y_,
                               &algorithms_[chosen_], workspace_.data(), workspace_.bytes(), stream),
               "cublasLtMatmul");
}

}  // namespace headroom::cuda
