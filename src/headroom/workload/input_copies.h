// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

#include "headroom/experiment/buffer.h"
#include "headroom/experiment/state.h"
#include "headroom/workload/team.h"

namespace headroom {

/// Equal, contiguous copies of one input, each aligned to 64 bytes.
class InputCopies {
 public:
  InputCopies(std::size_t bytes, std::size_t copies);

  std::byte* copy(std::size_t index) { return memory_.data() + index * stride_; }
  const std::byte* copy(std::size_t index) const { return memory_.data() + index * stride_; }
  std::size_t bytes() const { return bytes_; }
  std::size_t copies() const { return copies_; }

  template <typename T>
  std::span<T> first() {
    return {reinterpret_cast<T*>(memory_.data()), bytes_ / sizeof(T)};
  }
  template <typename T>
  std::span<const T> first() const {
    return {reinterpret_cast<const T*>(memory_.data()), bytes_ / sizeof(T)};
  }

  void spread(const Team& team);

  static std::size_t stride_of(std::size_t bytes);

 private:
  std::size_t bytes_;
  std::size_t stride_;
  std::size_t copies_;
  Buffer memory_;
};

/// Product of sizes, saturated at the maximum of int64, for State::require_memory.
std::size_t bytes_of(std::size_t a, std::size_t b, std::size_t c = 1, std::size_t d = 1);

constexpr std::size_t item_bytes(std::string_view dtype) {
  return dtype == "int8" ? 1 : 2;
}

/// The dtype whose peak bounds products of `weights` ("bf16", "int8", "int8_g32", "int4") with a bf16 x. With
/// x in fixed point, integer products stay integer, for which a CPU may have faster instructions.
constexpr const char* dtype_of_peak(std::string_view weights) {
  return weights == "bf16" ? "bf16" : "int8";
}

/// Throws Error below 1.
std::size_t size_axis(const State& state, std::string_view axis);

/// Rounds the axis `bytes` of a bandwidth limit down to a multiple of `unit`, the bytes moved at once. Skips
/// the case at zero.
std::size_t limit_bytes(const State& state, std::size_t unit);

}  // namespace headroom
