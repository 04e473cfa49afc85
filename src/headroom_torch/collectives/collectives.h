// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "headroom_torch/dtensor/world.h"

namespace headroom::torch_runner {

/// Input values of a collective. They differ by rank and place, and are so small that sums over ranks are
/// exact in every dtype and order.
class CollectivePattern {
 public:
  CollectivePattern(int ranks, std::uint64_t seed) : seed_(static_cast<std::int64_t>(seed % kPeriod)) {
    for (std::int64_t place = 0; place < kPeriod; ++place) {
      for (int rank = 0; rank < ranks; ++rank) sums_[static_cast<std::size_t>(place)] += value(rank, place);
    }
  }

  /// Value of a rank at a place of its data: -8 to 8.
  int value(std::int64_t rank, std::int64_t place) const {
    return static_cast<int>((place + 7 * rank + seed_) % kPeriod) - kMost;
  }
  /// Sum over all ranks at a place.
  int sum(std::int64_t place) const { return sums_[static_cast<std::size_t>(place % kPeriod)]; }

 private:
  static constexpr int kMost = 8, kPeriod = 2 * kMost + 1;
  std::int64_t seed_;
  std::array<int, kPeriod> sums_{};
};

/// Expected value by place.
using ExpectedValue = std::function<int(std::int64_t place)>;

/// Returns ATen's type for "f32" and so on. Throws Error for a dtype that collectives are not measured with.
at::ScalarType collective_scalar_type(const std::string& dtype);

/// Fills a contiguous tensor of one of these types with the expected values.
void fill_with(at::Tensor& tensor, const ExpectedValue& expected);

/// Fills a tensor with a value that no collective of such inputs gives.
void poison(at::Tensor& tensor);

/// "element 12 of 1024 is 3, not 5 (37 are wrong)"; empty if all values are as expected.
std::string what_is_wrong(const at::Tensor& tensor, const ExpectedValue& expected);

/// One collective of one size over the first `ranks` ranks of the world.
struct CollectiveSetup {
  std::string op = "all_reduce";
  std::int64_t bytes = 0;  ///< as returned by collective_bytes()
  std::string dtype = "f32";
  int ranks = 2;
  std::uint64_t seed = 1;
};

/// A collective of one size with its memory, ready to be measured. Every rank of the group makes the same
/// calls.
class CollectiveCase {
 public:
  virtual ~CollectiveCase() = default;
  /// Returns the total nanoseconds of `calls` calls on this rank. Each begins at a barrier and has new data.
  /// Throws Error if a rank does not arrive within the time-out of the group.
  virtual double time(std::uint64_t calls) = 0;
  /// Describes wrong results of the last call; empty if they are right.
  virtual std::string what_is_wrong() const = 0;
};

/// Features of a group's backend; probed once by all of its ranks together.
struct CollectiveBackendTraits {
  bool has_reduce_scatter = false;
};
CollectiveBackendTraits backend_traits(const dtensor::Group& group);

/// Names the collectives that `op` is composed of if the backend lacks it; else empty.
std::string composition_of(const std::string& op, const CollectiveBackendTraits& traits);

/// Allocates the memory of a collective. Throws Error for an unknown collective or dtype.
std::unique_ptr<CollectiveCase> make_collective(const CollectiveSetup& setup, const dtensor::Group& group,
                                                const CollectiveBackendTraits& traits);

}  // namespace headroom::torch_runner
