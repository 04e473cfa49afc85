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

/// Input values by rank and place, small enough for exact sums in every dtype and order.
class CollectivePattern {
 public:
  CollectivePattern(int ranks, std::uint64_t seed) : seed_(static_cast<std::int64_t>(seed % kPeriod)) {
    for (std::int64_t place = 0; place < kPeriod; ++place) {
      for (int rank = 0; rank < ranks; ++rank) sums_[static_cast<std::size_t>(place)] += value(rank, place);
    }
  }

  /// Returns -8 to 8.
  int value(std::int64_t rank, std::int64_t place) const {
    return static_cast<int>((place + 7 * rank + seed_) % kPeriod) - kMost;
  }
  int sum(std::int64_t place) const { return sums_[static_cast<std::size_t>(place % kPeriod)]; }

 private:
  static constexpr int kMost = 8, kPeriod = 2 * kMost + 1;
  std::int64_t seed_;
  std::array<int, kPeriod> sums_{};
};

using ExpectedValue = std::function<int(std::int64_t place)>;

/// Throws Error for an unsupported dtype.
at::ScalarType collective_scalar_type(const std::string& dtype);

/// `tensor` is contiguous.
void fill_with(at::Tensor& tensor, const ExpectedValue& expected);

/// Fills with a value that no collective produces from these inputs.
void poison(at::Tensor& tensor);

/// "element 12 of 1024 is 3, not 5 (37 are wrong)"; empty if all are as expected.
std::string mismatch_text(const at::Tensor& tensor, const ExpectedValue& expected);

struct CollectiveSetup {
  std::string op = "all_reduce";
  std::int64_t bytes = 0;  ///< as returned by collective_bytes()
  std::string dtype = "f32";
  int ranks = 2;
  std::uint64_t seed = 1;
};

/// Every rank of the group must make the same calls.
class CollectiveCase {
 public:
  virtual ~CollectiveCase() = default;
  /// Nanoseconds of `calls` calls, each from a barrier on new data. Throws Error if a rank is late.
  virtual double time(std::uint64_t calls) = 0;
  /// Describes the last call's result; empty if right.
  virtual std::string mismatch_text() const = 0;
};

struct CollectiveBackendTraits {
  bool has_reduce_scatter = false;
};
CollectiveBackendTraits backend_traits(const dtensor::Group& group);

/// How `op` is composed if the backend lacks it; else empty.
std::string composition_of(const std::string& op, const CollectiveBackendTraits& traits);

/// Throws Error for an unknown collective or dtype.
std::unique_ptr<CollectiveCase> make_collective(const CollectiveSetup& setup, const dtensor::Group& group,
                                                const CollectiveBackendTraits& traits);

}  // namespace headroom::torch_runner
