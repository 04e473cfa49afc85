// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>

#include "headroom/trace/readers/json_text.h"

namespace headroom::trace::readers {

/// 1 to 16 digits as a number, eight at a time; 16 bytes from `digits` on may be read. False when one is no
/// digit. Method: each step joins neighbours (tens and ones, hundreds, ...) in one multiplication.
inline bool quick_digits(const char* digits, std::size_t count, std::uint64_t& value) {
  const auto eight = [](const char* from, std::size_t used, std::uint64_t& number) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    // The digits go to the high end, zeros come in front of them.
    word = (word ^ 0x3030303030303030U) << (8 * (8 - used));
    if (((word + 0x7676767676767676U) & 0x8080808080808080U) != 0 || (word & 0x8080808080808080U) != 0)
      return false;
    word = word * 10 + (word >> 8);
    number = (((word & 0x000000ff000000ffU) * 0x000f424000000064U) +
              (((word >> 16) & 0x000000ff000000ffU) * 0x0000271000000001U)) >>
             32;
    return true;
  };
  if (count - 1 < 8) return eight(digits, count, value);
  std::uint64_t low = 0;
  if (count == 0 || count > 16 || !eight(digits, count - 8, value) || !eight(digits + count - 8, 8, low))
    return false;
  value = 100000000 * value + low;
  return true;
}

/// parse_microseconds of a value inside a text that may be read 64 bytes past its end.
inline std::optional<std::int64_t> quick_microseconds(Raw value) {
  std::uint64_t whole = 0, part = 0;
  const char* const at = value.data();
  const std::size_t size = value.size();
  // Kineto writes whole microseconds, or three decimals.
  if (size <= 15 && quick_digits(at, size, whole)) return static_cast<std::int64_t>(whole * 1000);
  if (size >= 5 && size <= 19 && at[size - 4] == '.' && quick_digits(at, size - 4, whole) &&
      quick_digits(at + size - 3, 3, part) && whole < static_cast<std::uint64_t>(kMostNs / 1000)) {
    return static_cast<std::int64_t>(whole * 1000 + part);
  }
  if (size == 16 && quick_digits(at, size, whole) && whole < static_cast<std::uint64_t>(kMostNs / 1000)) {
    return static_cast<std::int64_t>(whole * 1000);
  }
  return parse_microseconds(value);
}

/// parse_whole of such a value.
inline std::optional<std::int64_t> quick_whole(Raw value) {
  std::uint64_t whole = 0;
  if (value.size() <= 16 && quick_digits(value.data(), value.size(), whole))
    return static_cast<std::int64_t>(whole);
  return parse_whole(value);
}

}  // namespace headroom::trace::readers
