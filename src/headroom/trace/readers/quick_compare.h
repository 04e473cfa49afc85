// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace headroom::trace::readers {

/// The first bytes of a text of which eight may be read, up to `size` of them.
inline std::uint64_t first_bytes(const char* text, std::size_t size) {
  std::uint64_t word = 0;
  if (size == 0) return word;  // and nothing has to be there
  std::memcpy(&word, text, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return size >= 8 ? word : word & ((std::uint64_t{1} << (8 * size)) - 1);
}

/// Whether two texts of one size are equal; eight bytes of each may be read, whatever their size. Most texts
/// of a trace are shorter than the call of memcmp is long.
inline bool are_equal(const char* a, const char* b, std::size_t size) {
  if (size < 8) return first_bytes(a, size) == first_bytes(b, size);
  if (size > 64) return std::memcmp(a, b, size) == 0;
  for (std::size_t at = 0; at + 8 < size; at += 8) {
    if (std::memcmp(a + at, b + at, 8) != 0) return false;
  }
  return std::memcmp(a + size - 8, b + size - 8, 8) == 0;
}

}  // namespace headroom::trace::readers
