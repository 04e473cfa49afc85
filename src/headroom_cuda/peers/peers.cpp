// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/peers.h"

#include <limits>
#include <utility>

#include "headroom/workload/oracle.h"
#include "headroom_cuda/kernels/convert.h"
#include "headroom_cuda/kernels/norm.h"
#include "headroom_cuda/peers/cublas_gemv.h"
#include "headroom_cuda/peers/cublaslt_matmul.h"

namespace headroom::cuda {
namespace {

void require_int(const State& state, std::size_t size) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    state.skip(std::to_string(size) + " rows or columns are more than the libraries count");
  }
}

Launch launch_of_bf16(State& state, Device& device, const PeerMatrices& matrices) {
  if (state.backend() == "cublas") return cublas_launch(state, device, matrices);
  const auto matmul = std::make_shared<CublasLtMatmul>(state, matrices, nullptr);
  matmul->choose_fastest(state, device);
  return [matmul](std::size_t turn, cudaStream_t stream) { matmul->launch(turn, stream); };
}

/// Converts the matrices of a turn to bf16, one behind the other, and multiplies those.
Launch launch_of_int8(State& state, Device& device, const PeerMatrices& matrices) {
  const std::size_t values = matrices.rows * matrices.columns;
  const auto converted =
      std::make_shared<DeviceBuffer>(state, matrices.count * values * sizeof(std::uint16_t));
  PeerMatrices of_bf16 = matrices;
  of_bf16.dtype = "bf16";
  of_bf16.first.assign(1, converted->data());
  of_bf16.apart.assign(matrices.apart.empty() ? 0 : 1, 1);
  const Launch multiply = launch_of_bf16(state, device, of_bf16);
  state.note("weights", "converted to bf16 in each iteration by a kernel of ours");
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

/// A linear layer by cuBLASLt and its LayerNorm, from and to bf16.
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
  state.note("LayerNorm", "a kernel of ours");
  return [made](std::size_t copy, cudaStream_t stream) {
    made->up.launch(copy, stream);
    made->down.launch(copy, stream);
  };
}

}  // namespace headroom::cuda
