// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/core/ScalarType.h>
#include <c10/util/ArrayRef.h>
#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>

namespace headroom::torch_runner::dtensor {

enum class ReduceOp : std::uint8_t { kSum, kAvg, kMax, kMin, kProduct };

constexpr bool is_linear(ReduceOp op) {
  return op == ReduceOp::kSum || op == ReduceOp::kAvg;
}

/// Rank r has chunk r of `dim` as by at::chunk: ceil(size / n) each, the last ones less or nothing.
struct Shard {
  int dim;
};
struct Replicate {};
/// The whole is the reduction of the ranks' tensors, each of full size.
struct Partial {
  ReduceOp op = ReduceOp::kSum;
};

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
  /// Requires is_shard().
  constexpr int dim() const { return detail_; }
  /// Requires is_partial().
  constexpr ReduceOp op() const { return static_cast<ReduceOp>(detail_); }

  constexpr bool operator==(const Placement&) const = default;
  constexpr std::uint64_t code() const {
    return static_cast<std::uint64_t>(kind_) << 8 | static_cast<std::uint8_t>(detail_);
  }

 private:
  enum class Kind : std::uint8_t { kReplicate, kShard, kPartial };
  Kind kind_ = Kind::kReplicate;
  std::int8_t detail_ = 0;
};

/// One per mesh dimension; several of the same tensor dimension cut it in this order.
using Placements = c10::SmallVector<Placement, 4>;

/// Returns "Shard(0)", "Replicate", "Partial(sum)".
std::string text(Placement placement);
std::string text(const Placements& placements);

class DeviceMesh;

using Sizes = c10::SmallVector<std::int64_t, 5>;

/// Metadata of a distributed tensor. Interned by its mesh: pointers can be compared. Lives as long as the
/// mesh.
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

struct Extent {
  std::int64_t offset = 0;
  std::int64_t size = 0;
};

Extent chunk(std::int64_t size, int parts, int index);

/// Extent of dimension `dim` on this rank after the first `depth` placements.
Extent local_extent(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes, int dim,
                    int depth);

Sizes local_sizes(const DeviceMesh& mesh, const Placements& placements, c10::IntArrayRef sizes);

/// Throws Error beginning with `what` unless each mesh dimension has a placement and sharded dimensions
/// exist.
void check_placements(const DeviceMesh& mesh, const Placements& placements, std::size_t dims,
                      const char* what);

}  // namespace headroom::torch_runner::dtensor
