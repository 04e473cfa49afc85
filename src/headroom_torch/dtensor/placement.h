// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <c10/util/SmallVector.h>

#include <cstdint>
#include <string>

namespace headroom::torch_runner::dtensor {

/// How the parts of a partial tensor make the whole, element by element.
enum class ReduceOp : std::uint8_t { kSum, kAvg, kMax, kMin, kProduct };

/// Rank r of n holds the r-th chunk of dimension `dim`: ceil(size / n) of it each, the last ones less or
/// nothing, as at::chunk does.
struct Shard {
  int dim;
};
/// Every rank holds the whole.
struct Replicate {};
/// Every rank holds a tensor of the whole's size; reduced over the ranks they are the whole.
struct Partial {
  ReduceOp op = ReduceOp::kSum;
};

/// Where a tensor lies along one dimension of a mesh.
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
  /// The sharded dimension; of a shard only.
  constexpr int dim() const { return detail_; }
  /// Of a partial tensor only.
  constexpr ReduceOp op() const { return static_cast<ReduceOp>(detail_); }

  constexpr bool operator==(const Placement&) const = default;
  /// A number of its own for each value.
  constexpr std::uint64_t code() const {
    return static_cast<std::uint64_t>(kind_) << 8 | static_cast<std::uint8_t>(detail_);
  }

 private:
  enum class Kind : std::uint8_t { kReplicate, kShard, kPartial };
  Kind kind_ = Kind::kReplicate;
  std::int8_t detail_ = 0;
};

/// One for each dimension of a mesh. Where several shard the same dimension of a tensor, the first cuts
/// first.
using Placements = c10::SmallVector<Placement, 4>;

/// "Shard(0)", "Replicate", "Partial(sum)".
std::string text(Placement placement);
/// "[Shard(0), Replicate]".
std::string text(const Placements& placements);

}  // namespace headroom::torch_runner::dtensor
