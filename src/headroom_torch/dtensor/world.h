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

struct Connection;

enum class Transport : std::uint8_t { kGloo, kNccl };

struct Group {
  std::shared_ptr<Connection> connection;  // null if this rank is alone
  std::vector<int> ranks;                  // in the world, by index in the group
  int index = 0;                           // of this rank in `ranks`
  std::string name;                        // for messages: "mesh dimension 'dp'"
  std::chrono::milliseconds timeout{};
  c10::Device device = c10::kCPU;          // of the exchanged tensors
  std::shared_ptr<CollectiveRing> ring{};  // records the collectives of this rank; may be null
  int number = 0;                          // of this group in the ring

  int size() const { return static_cast<int>(ranks.size()); }
};

struct WorldOptions {
  int rank = 0;
  int size = 1;
  int local_rank = 0;  ///< among the ranks of this machine; the index of its GPU
  /// Address of the store, which rank 0 serves.
  std::string address = "127.0.0.1";
  std::uint16_t port = 29500;
  /// As torchrun does; rank 0 then connects like the others.
  bool launcher_listens = false;
  /// Limit for connecting and for each collective.
  std::chrono::milliseconds timeout{30000};
  /// Records the collectives of this rank; may be null.
  std::shared_ptr<CollectiveRing> ring{};
};

class World;
using WorldPtr = std::shared_ptr<World>;

class World {
 public:
  /// Every rank must call it. Throws Error for invalid options or if a rank is late.
  static WorldPtr connect(const WorldOptions& options);
  ~World();

  int rank() const { return options_.rank; }
  int size() const { return options_.size; }

  /// A group of ranks that all call it, equally often, with the same name. Throws Error after the time-out,
  /// and for kNccl as nccl_device() does.
  Group group(const std::vector<int>& ranks, const std::string& name, Transport transport = Transport::kGloo);

 private:
  explicit World(const WorldOptions& options);

  WorldOptions options_;
  c10::intrusive_ptr<c10d::Store> store_;  // null in a world of one
  // Connections by group key: earlier ones' addresses are still in the store.
  std::map<std::string, int> connections_;
};

}  // namespace headroom::torch_runner::dtensor
