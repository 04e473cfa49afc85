// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "headroom/experiment/peer.h"
#include "headroom/experiment/state.h"
#include "headroom/process/loaded_library.h"

namespace headroom::native {

/// The value of `--peer PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]`.
struct PeerRequest {
  std::string path, symbol;
  std::string name;   ///< of the backend; SYMBOL by default
  std::string dtype;  ///< the only dtype to call it with; empty: the function answers which ones it has
  bool own_threads = false;  ///< one call for all rows, with the library's own threads
};

/// Throws Error for a malformed text, or for a name that a backend cannot have.
PeerRequest parse_peer(const std::string& text);

/// A function of a loaded shared library, as a backend.
struct Peer {
  PeerRequest request;
  std::unique_ptr<LoadedLibrary> library;
  headroom_peer_function* call = nullptr;
  headroom_peer_prepare_function* prepare = nullptr;  ///< null: nothing to prepare
  headroom_peer_release_function* release = nullptr;
};

/// The peers of a runner, by the names of their backends.
using Peers = std::map<std::string, Peer>;

/// Throws Error naming the library: not a loadable library for this machine, a symbol that it does not
/// export (with similar names), missing dependencies.
Peer load_peer(PeerRequest request);

/// Verify and measure the case of `state` by a peer, on the memory that the native kernels read. Its output
/// is between guard zones that it must not change.
void measure_gemv_by(const Peer& peer, State& state);
void measure_gather_gemv_by(const Peer& peer, State& state);
void measure_layer_norm_by(const Peer& peer, State& state);

}  // namespace headroom::native
