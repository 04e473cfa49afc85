// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/team.h"

namespace headroom {

/// Equal copies of one input, one behind the other, each from a multiple of 64 bytes on.
class InputCopies {
 public:
  /// Zeroed memory.
  InputCopies(std::size_t bytes, std::size_t copies);

  std::byte* copy(std::size_t index) { return memory_.data() + index * stride_; }
  const std::byte* copy(std::size_t index) const { return memory_.data() + index * stride_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t copies() const { return copies_; }

  /// The memory of the first copy as values of T.
  template <typename T>
  std::span<T> first() {
    return {reinterpret_cast<T*>(memory_.data()), bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> first() const {
    return {reinterpret_cast<const T*>(memory_.data()), bytes_ / sizeof(T)};
  }

  /// Makes all copies equal to the first.
  void spread(const Team& team);

  /// Bytes from one copy to the next.
  static std::size_t stride_of(std::size_t bytes);

 private:
  std::size_t bytes_;
  std::size_t stride_;
  std::size_t copies_;
  Buffer memory_;
};

/// Product of sizes that cannot wrap: the largest number that State::require_memory understands instead.
std::size_t bytes_of(std::size_t a, std::size_t b, std::size_t c = 1, std::size_t d = 1);

/// Bytes of one value of `dtype`: "bf16" or "int8".
constexpr std::size_t item_bytes(std::string_view dtype) {
  return dtype == "int8" ? 1 : 2;
}

/// The dtype whose peak bounds products of `weights` ("bf16", "int8", "int8_g32", "int4") and an x of bf16: x
/// as fixed point makes those of integers products of integers, for which a CPU may have faster instructions
/// than for any float.
constexpr const char* dtype_of_peak(std::string_view weights) {
  return weights == "bf16" ? "bf16" : "int8";
}

/// A positive integer axis as a size. Throws Error for zero and negative values.
std::size_t size_axis(const State& state, std::string_view axis);

}  // namespace headroom
