// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/Device.h>
#include <c10/util/intrusive_ptr.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "headroom/ranks/collective_ring.h"

namespace c10d {
class Store;
}

namespace headroom::torch_runner::dtensor {

/// What collectives are called on (connection.h).
struct Connection;

/// What moves data between ranks: gloo between CPUs, NCCL between GPUs.
enum class Transport : std::uint8_t { kGloo, kNccl };

/// The ranks along one dimension of a mesh that this rank exchanges data with.
struct Group {
  std::shared_ptr<Connection> connection;  // none where the group is this rank alone
  std::vector<int> ranks;                  // in the world, by index in the group
  int index = 0;                           // of this rank in `ranks`
  std::string name;                        // for messages: "mesh dimension 'dp'"
  std::chrono::milliseconds timeout{};
  c10::Device device = c10::kCPU;          // where the tensors are that it exchanges
  std::shared_ptr<CollectiveRing> ring{};  // notes the collectives of this rank; may be none
  int number = 0;                          // of this group there

  int size() const { return static_cast<int>(ranks.size()); }
};

struct WorldOptions {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the ranks of this machine: the number of its GPU
  /// Where rank 0 keeps the store that the others meet at.
  std::string address = "127.0.0.1";
  std::uint16_t port = 29500;
  /// Whether the launcher keeps that store (torchrun does): rank 0 then only connects to it, as the others
  /// do.
  bool launcher_listens = false;
  /// After which a rank that did not come, and a collective that did not end, is an Error.
  std::chrono::milliseconds timeout{30000};
  /// Where the collectives of this rank are noted; none: nowhere.
  std::shared_ptr<CollectiveRing> ring{};
};

class World;
using WorldPtr = std::shared_ptr<World>;

/// The processes that work together; they meet over TCP.
class World {
 public:
  /// Every rank calls it. Throws Error when the options make no sense, or not every rank came within the
  /// time-out.
  static WorldPtr connect(const WorldOptions& options);
  ~World();

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }

  /// The group of these ranks, this one among them; all of them call it, with the same name, and equally
  /// often. Throws Error when they do not within the time-out, and for kNccl as nccl_device() does.
  Group group(const std::vector<int>& ranks, const std::string& name, Transport transport = Transport::kGloo);

 private:
  explicit World(const WorldOptions& options);

  WorldOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;  // none in a world of one
  // How often each group was connected, by its key: the addresses of the time before are still in the store.
  std::map<std::string, int> connections_;
};

}  // namespace headroom::torch_runner::dtensor
