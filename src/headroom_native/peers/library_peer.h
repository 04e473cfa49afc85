// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/experiment/state.h"
#include "headroom_native/peers/peer_library.h"

namespace headroom::native {

/// Verify and measure the case of `state` by a peer: on the memory that the native kernels read, with an
/// output of its own between zones that it must leave as they are.
void measure_gemv_by(const Peer& peer, State& state);
void measure_gather_gemv_by(const Peer& peer, State& state);
void measure_layer_norm_by(const Peer& peer, State& state);

}  // namespace headroom::native
