// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/intrusive_ptr.h>

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "headroom_torch/dtensor/propagation.h"
#include "headroom_torch/dtensor/spec.h"
#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner::dtensor {

class DeviceMesh;
using MeshPtr = c10::intrusive_ptr<DeviceMesh>;

enum class Fallback : std::uint8_t {
  kError,
  kReplicate,  // compute the whole on every rank
};

/// A world's ranks as an n-dimensional grid in row-major order. Owns its tensors' specs and propagation
/// cache, for one thread at a time, as collectives are ordered.
class DeviceMesh : public c10::intrusive_ptr_target {
 public:
  /// Every rank must call it with the same shape. `names` are unique, or empty for "0", "1", …. Throws Error
  /// if the sizes do not multiply to the world's or the names do not fit. With kNccl its tensors are on this
  /// rank's GPU.
  static MeshPtr create(const WorldPtr& world, std::vector<int> shape, std::vector<std::string> names = {},
                        Transport transport = Transport::kGloo);

  /// The sub-grid of this rank, always the same object. Throws Error for an unknown name.
  MeshPtr submesh(const std::vector<std::string>& names);

  int dims() const { return static_cast<int>(shape_.size()); }
  int size(int dim) const { return shape_[static_cast<std::size_t>(dim)]; }
  int size() const;
  const std::vector<int>& shape() const { return shape_; }
  const std::vector<std::string>& names() const { return names_; }
  int coordinate(int dim) const { return groups_[static_cast<std::size_t>(dim)].index; }
  const Group& group(int dim) const { return groups_[static_cast<std::size_t>(dim)]; }
  c10::Device device() const { return groups_.front().device; }
  /// "2x2 (dp, tp)".
  std::string text() const;

  PropagationCache& cache() const { return cache_; }
  Fallback fallback() const { return fallback_; }
  void set_fallback(Fallback fallback) {
    if (fallback != fallback_) cache_.clear();  // its plans depend on the fallback
    fallback_ = fallback;
  }

  /// The unique Spec equal to `spec`.
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
  // Mutable: also filled through the const pointer of a Spec.
  mutable PropagationCache cache_;
  mutable std::unordered_set<Spec, SpecHash> specs_;  // node-based, so addresses are stable
};

}  // namespace headroom::torch_runner::dtensor
