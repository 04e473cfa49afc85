// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "headroom/runner/collectives_protocol.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// A collective of one size with its memory, ready to be measured. Every rank of the group calls the same.
class CollectiveCase {
 public:
  virtual ~CollectiveCase() = default;
  /// Throws Error where the ranks did not all arrive within the time-out of the group.
  virtual CollectiveSamples samples(int count) = 0;
};

/// What a group's backend has; found out once, by all of its ranks together.
struct CollectiveBackendTraits {
  bool has_reduce_scatter = false;
};
CollectiveBackendTraits backend_traits(const dtensor::Group& group);

/// How many bytes there will be for `setup`: a whole number of elements, the same for each rank where each
/// has a part.
std::int64_t actual_bytes(const CollectiveSetup& setup);
/// Memory that a rank takes for so many bytes, what the backend takes for itself included, at most.
std::int64_t collective_footprint(std::int64_t bytes);
/// Of what `op` is composed where the backend does not have it; empty where it does.
std::string composition_of(const std::string& op, const CollectiveBackendTraits& traits);

/// Takes the memory. Throws Error for an unknown collective or dtype.
std::unique_ptr<CollectiveCase> make_collective(const CollectiveSetup& setup, const dtensor::Group& group,
                                                const CollectiveBackendTraits& traits);

}  // namespace headroom::torch_runner
