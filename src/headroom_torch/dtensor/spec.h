// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>

namespace headroom::torch_runner::dtensor {

/// Elementwise reduction of the parts of a partial tensor to the whole.
enum class ReduceOp : std::uint8_t { kSum, kAvg, kMax, kMin, kProduct };

/// Rank r of n holds the r-th chunk of dimension `dim` as at::chunk cuts it: ceil(size / n) each, the last
/// ones less or nothing.
struct Shard {
  int dim;
};
/// Every rank holds the whole.
struct Replicate {};
/// Every rank holds a tensor of the size of the whole; their reduction over the ranks is the whole.
struct Partial {
  ReduceOp op = ReduceOp::kSum;
};

/// Placement of a tensor along one dimension of a mesh.
class Placement {
 public:
  constexpr Placement() = default;  // Replicate
  constexpr Placement(Shard shard) : kind_(Kind::kShard), detail_(static_cast<std::int8_t>(shard.dim)) {}
  constexpr Placement(Replicate) {}
  constexpr Placement(Partial partial)
      : kind_(Kind::kPartial), detail_(static_cast<std::int8_t>(partial.op)) {}

  constexpr bool is_shard() const { return kind_ == Kind::kShard; }
  constexpr bool is_shard(int dim) const { return is_shard() && detail_ == dim; }
  constexpr bool is_replicate() const { return kind_ == Kind::kReplicate; }
  constexpr bool is_partial() const { return kind_ == Kind::kPartial; }
  constexpr bool is_partial(ReduceOp op) const { return is_partial() && detail_ == static_cast<int>(op); }
  /// The sharded dimension. Requires is_shard().
  constexpr int dim() const { return detail_; }
  /// Requires is_partial().
  constexpr ReduceOp op() const { return static_cast<ReduceOp>(detail_); }

  constexpr bool operator==(const Placement&) const = default;
  /// A unique number for each value.
  constexpr std::uint64_t code() const {
    return static_cast<std::uint64_t>(kind_) << 8 | static_cast<std::uint8_t>(detail_);
  }

 private:
  enum class Kind : std::uint8_t { kReplicate, kShard, kPartial };
  Kind kind_ = Kind::kReplicate;
  std::int8_t detail_ = 0;
};

/// One placement for each dimension of a mesh. If several shard the same dimension of a tensor, they cut it
/// in this order.
using Placements = c10::SmallVector<Placement, 4>;

/// "Shard(0)", "Replicate", "Partial(sum)".
std::string text(Placement placement);
/// "[Shard(0), Replicate]".
std::string text(const Placements& placements);

class DeviceMesh;

using Sizes = c10::SmallVector<std::int64_t, 5>;

/// Metadata of a distributed tensor. Interned by its mesh: equal specs are one object, so comparing pointers
/// suffices. Lives as long as the mesh.
struct Spec {
  const DeviceMesh* mesh = nullptr;
  Placements placements;
  Sizes sizes;  // of the whole
  at::ScalarType dtype = at::ScalarType::Undefined;

  bool operator==(const Spec& other) const {
    return mesh == other.mesh && dtype == other.dtype && placements == other.placements &&
           sizes == other.sizes;
  }
};

/// The part of a dimension that a rank holds.
struct Extent {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

/// Chunk `index` of a dimension of `size` cut into `parts`.
Extent chunk(std::int64_t size, int parts, int index);

/// Extent of dimension `dim` of a tensor of `sizes` on this rank, by the first `depth` placements.
Extent local_extent(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes, int dim,
                    int depth);

/// Sizes of this rank's part.
Sizes local_sizes(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes);

/// Throws Error unless there is one placement for each dimension of the mesh and each sharded dimension
/// exists. `what` begins the message.
void check_placements(const DeviceMesh& mesh, const Placements& placements, std::size_t dims,
                      const char* what);

}  // namespace headroom::torch_runner::dtensor
