// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// One JSON value; strings include the quotes.
using Raw = std::string_view;

/// Keeps escapes.
inline Raw without_quotes(Raw value) {
  return value.size() < 2 || value.front() != '"' ? value : value.substr(1, value.size() - 2);
}

/// Limit of times and durations (73 years): sums of two, and their differences, fit into 64 bits.
inline constexpr std::int64_t kMaxNs = std::int64_t{1} << 61;

/// From microseconds (number or string), exactly or rounded to nearest. Nothing beyond kMaxNs.
std::optional<std::int64_t> parse_microseconds(Raw value);

/// Accepts numbers of any size and strings of numbers.
bool is_number(Raw value);

/// Parses an integer, dropping decimals. Values above int64 wrap (uint64 identifiers); nothing beyond uint64.
std::optional<std::int64_t> parse_integer(Raw value);

std::optional<double> parse_real(Raw value);

/// Parses a decimal or hexadecimal (0x) number, or hashes other text.
std::int64_t parse_id(Raw value);

/// Parses 1 to 16 digits, eight at a time; false at a non-digit. 16 bytes from `digits` on must be readable.
inline bool quick_digits(const char* digits, std::size_t count, std::uint64_t& value) {
  const auto eight = [](const char* from, std::size_t used, std::uint64_t& number) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    // Digits to the high end; zeros in front.
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

/// Fast parse_microseconds; 64 bytes past the end must be readable.
inline std::optional<std::int64_t> quick_microseconds(Raw value) {
  std::uint64_t whole = 0, part = 0;
  const char* const at = value.data();
  const std::size_t size = value.size();
  // Kineto's formats: whole microseconds, or three decimals.
  if (size <= 15 && quick_digits(at, size, whole)) return static_cast<std::int64_t>(whole * 1000);
  if (size >= 5 && size <= 19 && at[size - 4] == '.' && quick_digits(at, size - 4, whole) &&
      quick_digits(at + size - 3, 3, part) && whole < static_cast<std::uint64_t>(kMaxNs / 1000)) {
    return static_cast<std::int64_t>(whole * 1000 + part);
  }
  if (size == 16 && quick_digits(at, size, whole) && whole < static_cast<std::uint64_t>(kMaxNs / 1000)) {
    return static_cast<std::int64_t>(whole * 1000);
  }
  return parse_microseconds(value);
}

/// Fast parse_integer; 64 bytes past the end must be readable.
inline std::optional<std::int64_t> quick_integer(Raw value) {
  std::uint64_t whole = 0;
  if (value.size() <= 16 && quick_digits(value.data(), value.size(), whole))
    return static_cast<std::int64_t>(whole);
  return parse_integer(value);
}

/// The first min(size, 8) bytes; eight must be readable.
inline std::uint64_t first_bytes(const char* text, std::size_t size) {
  std::uint64_t word = 0;
  if (size == 0) return word;  // `text` may be null
  std::memcpy(&word, text, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return size >= 8 ? word : word & ((std::uint64_t{1} << (8 * size)) - 1);
}

/// Eight bytes of each must be readable. Avoids memcmp for short texts.
inline bool are_equal(const char* a, const char* b, std::size_t size) {
  if (size < 8) return first_bytes(a, size) == first_bytes(b, size);
  if (size > 64) return std::memcmp(a, b, size) == 0;
  for (std::size_t at = 0; at + 8 < size; at += 8) {
    if (std::memcmp(a + at, b + at, 8) != 0) return false;
  }
  return std::memcmp(a + size - 8, b + size - 8, 8) == 0;
}

}  // namespace headroom::trace::readers
