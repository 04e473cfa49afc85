// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// One collective of one size, by the first `ranks` of the world.
struct CollectiveSetup {
  std::string op = "all_reduce";
  std::int64_t bytes = 0;  ///< as collective_bytes() gives them
  std::string dtype = "f32";
  int ranks = 2;
  std::uint64_t seed = 1;
};

/// A collective of one size with its memory, ready to be measured. Every rank of the group calls the same.
class CollectiveCase {
 public:
  virtual ~CollectiveCase() = default;
  /// Nanoseconds on this rank of so many calls together, each of which begins at a barrier and has new data.
  /// Throws Error where the ranks did not all arrive within the time-out of the group.
  virtual double time(std::uint64_t calls) = 0;
  /// What is wrong with the data of the last call; empty where nothing is.
  virtual std::string what_is_wrong() const = 0;
};

/// What a group's backend has; found out once, by all of its ranks together.
struct CollectiveBackendTraits {
  bool has_reduce_scatter = false;
};
CollectiveBackendTraits backend_traits(const dtensor::Group& group);

/// Of what `op` is composed where the backend does not have it; empty where it does.
std::string composition_of(const std::string& op, const CollectiveBackendTraits& traits);

/// Takes the memory. Throws Error for an unknown collective or dtype.
std::unique_ptr<CollectiveCase> make_collective(const CollectiveSetup& setup, const dtensor::Group& group,
                                                const CollectiveBackendTraits& traits);

}  // namespace headroom::torch_runner
