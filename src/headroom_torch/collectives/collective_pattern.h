// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace headroom::torch_runner {

/// What ranks put into a collective: numbers that tell the rank and the place from each other, so small that
/// sums over ranks are exact in every dtype, in whatever order they are added.
class CollectivePattern {
 public:
  CollectivePattern(int ranks, std::uint64_t seed) : seed_(static_cast<std::int64_t>(seed % kPeriod)) {
    for (std::int64_t place = 0; place < kPeriod; ++place) {
      for (int rank = 0; rank < ranks; ++rank) sums_[static_cast<std::size_t>(place)] += value(rank, place);
    }
  }

  /// Of one rank at one place of its data: -8 to 8.
  int value(std::int64_t rank, std::int64_t place) const {
    return static_cast<int>((place + 7 * rank + seed_) % kPeriod) - kMost;
  }
  /// Of all ranks at one place, added.
  int sum(std::int64_t place) const { return sums_[static_cast<std::size_t>(place % kPeriod)]; }

 private:
  static constexpr int kMost = 8, kPeriod = 2 * kMost + 1;
  std::int64_t seed_;
  std::array<int, kPeriod> sums_{};
};

}  // namespace headroom::torch_runner
