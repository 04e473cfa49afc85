// SPDX-License-Identifier: Apache-2.0
#include "headroom/workload/input_copies.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

#include "headroom/base/error.h"

namespace headroom {

std::size_t InputCopies::stride_of(std::size_t bytes) {
  return (bytes + 63) / 64 * 64;
}

InputCopies::InputCopies(std::size_t bytes, std::size_t copies)
    : bytes_(bytes), stride_(stride_of(bytes)), copies_(copies), memory_(stride_ * copies) {}

void InputCopies::spread(const Team& team) {
  if (copies_ < 2) return;
  // Splits as the kernels do, so that each CPU caches the part that it will read.
  team([&](int worker, int workers) {
    const Slice part = slice_of(bytes_, worker, workers);
    for (std::size_t index = 1; index < copies_; ++index) {
      std::memcpy(copy(index) + part.begin, copy(0) + part.begin, part.size());
    }
  });
}

std::size_t bytes_of(std::size_t a, std::size_t b, std::size_t c, std::size_t d) {
  constexpr auto kMax = static_cast<std::size_t>(std::numeric_limits<std::int64_t>::max());
  std::size_t product = a;
  for (const std::size_t factor : {b, c, d}) {
    if (__builtin_mul_overflow(product, factor, &product) || product > kMax) return kMax;
  }
  return product;
}

std::size_t size_axis(const State& state, std::string_view axis) {
  const std::int64_t value = state.integer(axis);
  if (value < 1) {
    throw Error("axis " + std::string(axis) + " is " + std::to_string(value) + "; it must be at least 1");
  }
  return static_cast<std::size_t>(value);
}

std::size_t limit_bytes(const State& state, std::size_t unit) {
  const auto asked = static_cast<std::size_t>(state.integer("bytes"));
  const std::size_t bytes = asked / unit * unit;
  if (bytes == 0) {
    state.skip("bytes=" + std::to_string(asked) + " is less than the " + std::to_string(unit) +
               " bytes that this limit moves at once");
  }
  return bytes;
}

}  // namespace headroom
