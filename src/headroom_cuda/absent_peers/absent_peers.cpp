// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/peers.h"

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
