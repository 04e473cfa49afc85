// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/peers.h"

#if __has_include(<cublasLt.h>)
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/kernels/launches.h"
#include "headroom_cuda/peers/cublas_library.h"
#include "headroom_cuda_device/device.h"

namespace headroom::cuda {

namespace {

std::vector<std::string> folders() {
  std::vector<std::string> found{""};
  for (const std::string& root : toolkit_roots()) found.push_back(root + "/lib64/");
  return found;
}

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

  /// Column-major: cuBLAS sees the transpose of W[rows, columns].
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

constexpr int kMostAlgorithms = 16;

/// Power of two, at most 256.
std::uint32_t alignment_of(const PeerMatrices& matrices) {
  std::uintptr_t all = 256;
  for (const std::byte* first : matrices.first) all |= reinterpret_cast<std::uintptr_t>(first);
  for (const std::int64_t apart : matrices.apart) {
    all |= static_cast<std::uintptr_t>(apart) * matrices.rows * matrices.columns * sizeof(std::uint16_t);
  }
  return 1U << std::countr_zero(static_cast<std::uint32_t>(all));
}

/// bf16 matrices times x by cuBLASLt, plus an optional bias, to y of bf16.
class CublasLtMatmul {
 public:
  /// Skips the case without the library or an algorithm for these sizes.
  CublasLtMatmul(State& state, const PeerMatrices& matrices, const std::byte* bias)
      : cublas_(loaded<CublasLtFunctions>(state)), matrices_(matrices), workspace_(state, kWorkspaceBytes) {
    if (cublas_->create(&handle_) != CUBLAS_STATUS_SUCCESS) {
      state.skip(cublas_->library.name() + " does not work with this device and driver");
    }
    describe(bias);
    find_algorithms(state);
  }
  ~CublasLtMatmul() {
    for (const auto& [apart, layout] : weights_) cublas_->destroy_layout(layout);
    if (x_ != nullptr) cublas_->destroy_layout(x_);
    if (y_ != nullptr) cublas_->destroy_layout(y_);
    if (operation_ != nullptr) cublas_->destroy_operation(operation_);
    if (handle_ != nullptr) cublas_->destroy(handle_);
  }
  CublasLtMatmul(const CublasLtMatmul&) = delete;
  CublasLtMatmul& operator=(const CublasLtMatmul&) = delete;

  /// Times the suggested algorithms and notes their number.
  void choose_fastest(State& state, Device& device) {
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
  void launch(std::size_t turn, cudaStream_t stream) const {
    const float one = 1, zero = 0;
    check_cublas(cublas_->matmul(handle_, operation_, &one, matrices_.first[turn], weights_of(turn),
                                 matrices_.x, x_, &zero, matrices_.y, y_, matrices_.y, y_,
                                 &algorithms_[chosen_], workspace_.data(), workspace_.bytes(), stream),
                 "cublasLtMatmul");
  }

 private:
  cublasLtMatrixLayout_t layout(std::size_t rows, std::size_t columns, std::int64_t apart) const {
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
  cublasLtMatrixLayout_t weights_of(std::size_t turn) const {
    return weights_.at(matrices_.apart.empty() ? 0 : matrices_.apart[turn]);
  }
  /// Column-major: cuBLASLt sees the transpose of W[rows, columns].
  void describe(const std::byte* bias) {
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
  void find_algorithms(State& state) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_cublas(cublas_->make_preference(&preference), "cublasLtMatmulPreferenceCreate");
    const std::size_t bytes = workspace_.bytes();
    const std::uint32_t alignment = alignment_of(matrices_);
    cublas_->set_of_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes, sizeof bytes);
    cublas_->set_of_preference(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &alignment,
                               sizeof alignment);
    std::array<cublasLtMatmulHeuristicResult_t, kMostAlgorithms> results{};
    int found = 0;
    const cublasStatus_t status = cublas_->heuristic(handle_, operation_, weights_of(0), x_, y_, y_,
                                                     preference, kMostAlgorithms, results.data(), &found);
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

  std::shared_ptr<const CublasLtFunctions> cublas_;
  PeerMatrices matrices_;
  DeviceBuffer workspace_;
  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
  std::map<std::int64_t, cublasLtMatrixLayout_t> weights_;  ///< by distance of the matrices
  cublasLtMatrixLayout_t x_ = nullptr, y_ = nullptr;
  std::vector<cublasLtMatmulAlgo_t> algorithms_;
  std::size_t chosen_ = 0;
};

void require_int(const State& state, std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    state.skip(std::to_string(size) + " rows or columns exceed the limit of the libraries");
  }
}

Launch launch_of_bf16(State& state, Device& device, const PeerMatrices& matrices) {
  if (state.backend() == "cublas") {
    const auto gemv = std::make_shared<const CublasGemv>(state, device, matrices);
    return [gemv](std::size_t turn, cudaStream_t /*stream*/) { gemv->launch(turn); };
  }
  const auto matmul = std::make_shared<CublasLtMatmul>(state, matrices, nullptr);
  matmul->choose_fastest(state, device);
  return [matmul](std::size_t turn, cudaStream_t stream) { matmul->launch(turn, stream); };
}

Launch launch_of_int8(State& state, Device& device, const PeerMatrices& matrices) {
  const std::size_t values = matrices.rows * matrices.columns;
  const auto converted =
      std::make_shared<DeviceBuffer>(state, matrices.count * values * sizeof(std::uint16_t));
  PeerMatrices of_bf16 = matrices;
  of_bf16.dtype = "bf16";
  of_bf16.first.assign(1, converted->data());
  of_bf16.apart.assign(matrices.apart.empty() ? 0 : 1, 1);
  const Launch multiply = launch_of_bf16(state, device, of_bf16);
  state.note("weights", "converted to bf16 by our kernel in each iteration");
  const auto processors = static_cast<unsigned>(device.multiprocessors());
  return [=](std::size_t turn, cudaStream_t stream) {
    for (std::size_t i = 0; i < matrices.count; ++i) {
      const std::size_t number = i == 0 ? 0 : static_cast<std::size_t>(matrices.apart[turn]);
      launch_convert(reinterpret_cast<const std::int8_t*>(matrices.first[turn] + number * values),
                     converted->as<std::uint16_t>() + i * values, values, processors, stream);
    }
    multiply(0, stream);
  };
}

class ChainLayer {
 public:
  ChainLayer(State& state, Device& device, const PeerLayer& layer, const std::byte* x, std::byte* y)
      : sums_(state, layer.outputs * sizeof(std::uint16_t)),
        gamma_(uploaded(state, as_floats(layer.parameters->gamma))),
        beta_(uploaded(state, as_floats(layer.parameters->beta))),
        plan_(norm_plan(1, layer.outputs, static_cast<unsigned>(device.multiprocessors()), "")),
        matmul_(state, matrices(layer, x), layer.bias) {
    norm_ = {sums_.as<const std::uint16_t>(),
             gamma_.as<const float>(),
             beta_.as<const float>(),
             reinterpret_cast<std::uint16_t*>(y),
             1,
             device_size(state, layer.outputs, "columns"),
             kNormEpsilon};
    matmul_.choose_fastest(state, device);
  }
  void launch(std::size_t copy, cudaStream_t stream) const {
    matmul_.launch(copy, stream);
    launch_norm(norm_, plan_, stream);
  }

 private:
  PeerMatrices matrices(const PeerLayer& layer, const std::byte* x) const {
    PeerMatrices made{"bf16", layer.outputs, layer.inputs, 1, {}, {}, x, sums_.data()};
    for (std::size_t copy = 0; copy < layer.parameters->weights.copies(); ++copy) {
      made.first.push_back(layer.weights->copy(copy));
    }
    return made;
  }
  static std::vector<float> as_floats(const std::vector<Bf16>& values) {
    std::vector<float> floats;
    for (const Bf16 value : values) floats.push_back(to_float(value));
    return floats;
  }

  DeviceBuffer sums_, gamma_, beta_;
  NormPlan plan_;
  NormProblem norm_;
  CublasLtMatmul matmul_;
};

struct Chain {
  DeviceBuffer hidden;
  ChainLayer up, down;

  Chain(State& state, Device& device, const PeerChain& chain)
      : hidden(state, chain.up.outputs * sizeof(std::uint16_t)),
        up(state, device, chain.up, chain.x, hidden.data()),
        down(state, device, chain.down, hidden.data(), chain.y) {}
};

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

std::vector<std::string> gemv_peers() {
  return {"cublas", "cublaslt"};
}

std::vector<std::string> mlp_peers() {
  return {"cublaslt"};
}

Launch peer_launch(State& state, Device& device, const PeerMatrices& matrices) {
  require_int(state, matrices.rows);
  require_int(state, matrices.columns);
  return matrices.dtype == "int8" ? launch_of_int8(state, device, matrices)
                                  : launch_of_bf16(state, device, matrices);
}

Launch peer_launch(State& state, Device& device, const PeerChain& chain) {
  for (const PeerLayer* layer : {&chain.up, &chain.down}) require_int(state, layer->outputs);
  const auto made = std::make_shared<const Chain>(state, device, chain);
  state.note("LayerNorm", "our kernel");
  return [made](std::size_t copy, cudaStream_t stream) {
    made->up.launch(copy, stream);
    made->down.launch(copy, stream);
  };
}

}  // namespace headroom::cuda

#else

namespace headroom::cuda {
namespace {

constexpr const char* kAbsent = "headroom-cuda was built without the headers of cuBLAS";

}  // namespace

std::vector<std::string> gemv_peers() {
  return {};
}

std::vector<std::string> mlp_peers() {
  return {};
}

Launch peer_launch(State& state, Device& /*device*/, const PeerMatrices& /*matrices*/) {
  state.skip(kAbsent);
}

Launch peer_launch(State& state, Device& /*device*/, const PeerChain& /*chain*/) {
  state.skip(kAbsent);
}

}  // namespace headroom::cuda
#endif
