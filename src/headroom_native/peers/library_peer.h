// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headroom/experiment/peer.h"
#include "headroom/experiment/state.h"
#include "headroom/process/loaded_library.h"

namespace headroom::native {

/// Value of `--peer PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]`.
struct PeerRequest {
  std::string path, symbol;
  std::string name;          ///< of the backend; SYMBOL by default
  std::string dtype;         ///< the only one to call it with; empty: the function reports which it supports
  bool own_threads = false;  ///< one call for all rows, with the library's own threads
};

/// Throws Error for malformed text or an invalid backend name.
PeerRequest parse_peer(const std::string& text);

struct Peer {
  PeerRequest request;
  std::unique_ptr<LoadedLibrary> library;
  headroom_peer_function* call = nullptr;
  headroom_peer_prepare_function* prepare = nullptr;  ///< null: nothing to prepare
  headroom_peer_release_function* release = nullptr;
  std::vector<std::string> changed_by_loading;  ///< settings of the loading thread, restored
};

/// By backend name.
using Peers = std::map<std::string, Peer>;

/// Throws Error if the library cannot be loaded here, lacks dependencies or the symbol (names similar ones).
Peer load_peer(PeerRequest request);

/// Measures on the memory of the native kernels. The output lies between guard zones that must not change.
void measure_gemv_by(const Peer& peer, State& state);
void measure_gather_gemv_by(const Peer& peer, State& state);
void measure_layer_norm_by(const Peer& peer, State& state);

}  // namespace headroom::native
