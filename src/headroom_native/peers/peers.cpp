// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

std::vector<const Bf16*> as_bf16(std::initializer_list<const std::byte*> matrices) {
  std::vector<const Bf16*> found;
  for (const std::byte* matrix : matrices) found.push_back(reinterpret_cast<const Bf16*>(matrix));
  return found;
}

bool is_peer(const std::string& backend) {
  return backend == "onednn" || backend == "onednn_packed" || backend == "openblas";
}

void measure(State& state, [[maybe_unused]] ThreadPool& pool, [[maybe_unused]] const MatrixCase& matrices,
             const std::string& dtype) {
  if (dtype != "bf16") {
    state.skip(state.backend() + " does not support int8 weights with a bf16 x");
  }
#ifdef HEADROOM_HAS_ONEDNN
  if (state.backend() != "openblas") {
    return measure_onednn(state, pool, matrices, state.backend() == "onednn_packed");
  }
#endif
#ifdef HEADROOM_HAS_OPENBLAS
  if (state.backend() == "openblas") return measure_openblas(state, pool, matrices);
#endif
  state.skip("this headroom-native was built without " + state.backend());
}

}  // namespace

std::vector<std::string> gemv_peers() {
  std::vector<std::string> peers;
#ifdef HEADROOM_HAS_ONEDNN
  peers.insert(peers.end(), {"onednn", "onednn_packed"});
#endif
#ifdef HEADROOM_HAS_OPENBLAS
  peers.push_back("openblas");
#endif
  return peers;
}

std::vector<std::string> layer_norm_peers() {
#ifdef HEADROOM_HAS_ONEDNN
  return {"onednn"};
#else
  return {};
#endif
}

std::vector<std::string> mlp_peers() {
#ifdef HEADROOM_HAS_ONEDNN
  return {"onednn", "onednn_packed"};
#else
  return {};
#endif
}

bool measured_by_peer(State& state, const GemvWorkload& inputs, ThreadPool& pool) {
  if (!is_peer(state.backend())) return false;
  MatrixCase matrices{inputs.size,     inputs.size,     {},
                      inputs.x.data(), inputs.expected, GemvWorkload::kTolerance};
  for (std::size_t copy = 0; copy < inputs.weights.copies(); ++copy) {
    matrices.matrices.push_back(as_bf16({inputs.weights.copy(copy)}));
  }
  measure(state, pool, matrices, inputs.dtype);
  return true;
}

bool measured_by_peer(State& state, const GatherGemvWorkload& inputs, ThreadPool& pool) {
  if (!is_peer(state.backend())) return false;
  MatrixCase matrices{inputs.size,     inputs.size,     {},
                      inputs.x.data(), inputs.expected, GatherGemvWorkload::kTolerance};
  constexpr std::size_t kPairs = GatherGemvWorkload::kExperts / GatherGemvWorkload::kChosen;
  const std::size_t copies = state.caches() == Caches::kHot ? 1 : inputs.experts.copies() * kPairs;
  for (std::size_t copy = 0; copy < copies; ++copy) {
    matrices.matrices.push_back(as_bf16({inputs.matrix(copy, 0), inputs.matrix(copy, 1)}));
  }
  measure(state, pool, matrices, inputs.dtype);
  return true;
}

bool measured_by_peer([[maybe_unused]] State& state, [[maybe_unused]] LayerNormWorkload& inputs,
                      [[maybe_unused]] ThreadPool& pool) {
  if (!is_peer(state.backend())) return false;
#ifdef HEADROOM_HAS_ONEDNN
  measure_onednn_layer_norm(state, pool, inputs);
  return true;
#else
  state.skip("this headroom-native was built without " + state.backend());
#endif
}

bool measured_by_peer([[maybe_unused]] State& state, [[maybe_unused]] const MlpWorkload& inputs,
                      [[maybe_unused]] ThreadPool& pool) {
  if (!is_peer(state.backend())) return false;
#ifdef HEADROOM_HAS_ONEDNN
  measure_onednn_mlp(state, pool, inputs, state.backend() == "onednn_packed");
  return true;
#else
  state.skip("this headroom-native was built without " + state.backend());
#endif
}

}  // namespace headroom::native
