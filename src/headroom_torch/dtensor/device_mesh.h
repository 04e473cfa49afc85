// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <map>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "headroom_torch/dtensor/propagation_cache.h"
#include "headroom_torch/dtensor/spec.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner::dtensor {

class DeviceMesh;
using MeshPtr = c10::intrusive_ptr<DeviceMesh>;

/// What is done with an operator that has no sharding rule.
enum class Fallback : std::uint8_t {
  kError,      // headroom::Error that names it
  kReplicate,  // operands are gathered, every rank computes the whole
};

/// The ranks of a world as an n-dimensional grid, in row-major order. It also keeps what belongs to its
/// tensors: their specs and the propagation cache. One thread at a time works with the tensors of a mesh, as
/// collectives have an order.
class DeviceMesh : public c10::intrusive_ptr_target {
 public:
  /// Every rank of the world calls it with the same shape. Throws Error when the sizes do not multiply to the
  /// size of the world, or names do not fit: one for each dimension, all different; "0", "1", … where none
  /// are given. With kNccl its tensors are on the GPU of this rank.
  static MeshPtr create(const WorldPtr& world, std::vector<int> shape, std::vector<std::string> names = {},
                        Transport transport = Transport::kGloo);

  /// The grid of the named dimensions that this rank is in; the same object each time. Throws Error at an
  /// unknown name.
  MeshPtr submesh(const std::vector<std::string>& names);

  int dims() const { return static_cast<int>(shape_.size()); }
  int size(int dim) const { return shape_[static_cast<std::size_t>(dim)]; }
  /// Number of ranks.
  int size() const;
  const std::vector<int>& shape() const { return shape_; }
  const std::vector<std::string>& names() const { return names_; }
  /// This rank's index along a dimension.
  int coordinate(int dim) const { return groups_[static_cast<std::size_t>(dim)].index; }
  const Group& group(int dim) const { return groups_[static_cast<std::size_t>(dim)]; }
  /// Where the parts of its tensors are on this rank.
  c10::Device device() const { return groups_.front().device; }
  /// "2x2 (dp, tp)".
  std::string text() const;

  PropagationCache& cache() const { return cache_; }
  Fallback fallback() const { return fallback_; }
  void set_fallback(Fallback fallback) {
    if (fallback != fallback_) cache_.clear();  // of plans that were made under the other
    fallback_ = fallback;
  }

  /// The one Spec of this value; its mesh becomes this one.
  const Spec* intern(Spec spec) const;

 private:
  struct SpecHash {
    std::size_t operator()(const Spec& spec) const;
  };

  WorldPtr world_;
  std::vector<int> shape_;
  std::vector<std::string> names_;
  std::vector<Group> groups_;
  std::map<std::vector<std::string>, MeshPtr> submeshes_;
  Fallback fallback_ = Fallback::kError;
  // Filled by use, also of a mesh that a Spec refers to.
  mutable PropagationCache cache_;
  mutable std::unordered_set<Spec, SpecHash> specs_;  // nodes never move
};

}  // namespace headroom::torch_runner::dtensor
