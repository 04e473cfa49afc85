// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headroom/base/loaded_library.h"
#include "headroom/experiment/peer.h"

namespace headroom::native {

/// What `--peer PATH:SYMBOL[,name=NAME][,dtype=bf16|int8][,threads=own]` asks for.
struct PeerRequest {
  std::string path, symbol;
  std::string name;          ///< of the backend; SYMBOL where none is given
  std::string dtype;         ///< the only one that it is called with; empty: it answers which it has
  bool own_threads = false;  ///< one call for all rows, with threads of the library's own
};

/// Throws Error: what is no such text, a name that a backend could not have.
PeerRequest parse_peer(const std::string& text);

/// A function of a shared library that was loaded, as a backend.
struct Peer {
  PeerRequest request;
  std::unique_ptr<LoadedLibrary> library;
  headroom_peer_function* call = nullptr;
  headroom_peer_prepare_function* prepare = nullptr;  ///< null: there is nothing to prepare
  headroom_peer_release_function* release = nullptr;
};

/// The peers of a runner, by the names of their backends.
using Peers = std::map<std::string, Peer>;

/// Throws Error naming the library: what exported_functions throws, a symbol that it does not export (with
/// those near to it), libraries that it needs and that are not there.
Peer load_peer(PeerRequest request);

}  // namespace headroom::native
