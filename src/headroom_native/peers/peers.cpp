// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/peers/peers.h"

namespace headroom::native {
namespace {

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

template <typename Workload>
bool measured_product(State& state, const Workload& inputs, ThreadPool& pool) {
  if (!is_peer(state.backend())) return false;
  MatrixCase matrices{inputs.size, inputs.size, {}, inputs.x.data(), inputs.expected, Workload::kTolerance};
  const std::size_t turns = state.caches() == Caches::kHot ? 1 : inputs.turns();
  for (std::size_t turn = 0; turn < turns; ++turn) {
    std::vector<const Bf16*>& of_turn = matrices.matrices.emplace_back();
    for (std::size_t chosen = 0; chosen < Workload::kChosen; ++chosen)
      of_turn.push_back(reinterpret_cast<const Bf16*>(inputs.matrix(turn, chosen)));
  }
  measure(state, pool, matrices, inputs.dtype);
  return true;
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
  return measured_product(state, inputs, pool);
}

bool measured_by_peer(State& state, const GatherGemvWorkload& inputs, ThreadPool& pool) {
  return measured_product(state, inputs, pool);
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
