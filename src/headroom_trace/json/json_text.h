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

/// The bytes of one JSON value as in the file; strings with their quotes.
using Raw = std::string_view;

/// The inside of a string, still escaped; any other value unchanged.
inline Raw without_quotes(Raw value) {
  return value.size() < 2 || value.front() != '"' ? value : value.substr(1, value.size() - 2);
}

/// Limit for times, base times and durations (73 years): the sum and the difference of two such sums fit into
/// 64 bits.
inline constexpr std::int64_t kMostNs = std::int64_t{1} << 61;

/// Parses microseconds, a number or a string of one, to nanoseconds. Decimals never pass through a double;
/// those beyond the third round to nearest. Nothing if it is not a number or beyond kMostNs.
std::optional<std::int64_t> parse_microseconds(Raw value);

/// Whether the value is a number, or a string of one, of any size.
bool is_number(Raw value);

/// Parses a whole number, a number with decimals (dropped), or a string of either. Values above int64 wrap,
/// as identifiers written as uint64 do; nothing beyond uint64.
std::optional<std::int64_t> parse_whole(Raw value);

/// Parses a number or a string of one. Nothing for NaN and infinities, which no analysis can use.
std::optional<double> parse_real(Raw value);

/// Parses an identifier: a whole number, hexadecimal after 0x, otherwise a hash of the text.
std::int64_t parse_id(Raw value);

/// The inside of a string with its escapes resolved.
struct CleanText {
  std::string text;
  bool is_clean = true;  ///< false: a bad escape was kept, or invalid UTF-8 became U+FFFD
};
CleanText clean_text(std::string_view inside);

/// Parses 1 to 16 digits, eight at a time; 16 bytes from `digits` on must be readable. Returns false at a
/// character that is not a digit. Each step joins neighbours (tens and ones, hundreds, ...) in one
/// multiplication.
inline bool quick_digits(const char* digits, std::size_t count, std::uint64_t& value) {
  const auto eight = [](const char* from, std::size_t used, std::uint64_t& number) {
    std::uint64_t word = 0;
    std::memcpy(&word, from, 8);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    // Shift the digits to the high end; zeros fill the front.
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

/// parse_microseconds for a value in a text that is readable 64 bytes past its end.
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

/// parse_whole for such a value.
inline std::optional<std::int64_t> quick_whole(Raw value) {
  std::uint64_t whole = 0;
  if (value.size() <= 16 && quick_digits(value.data(), value.size(), whole))
    return static_cast<std::int64_t>(whole);
  return parse_whole(value);
}

/// The first bytes of a text, up to `size`; eight bytes must be readable.
inline std::uint64_t first_bytes(const char* text, std::size_t size) {
  std::uint64_t word = 0;
  if (size == 0) return word;  // the text may be null
  std::memcpy(&word, text, 8);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return size >= 8 ? word : word & ((std::uint64_t{1} << (8 * size)) - 1);
}

/// Whether two texts of one size are equal; eight bytes of each must be readable. Most texts of a trace are
/// so short that the call of memcmp dominates.
inline bool are_equal(const char* a, const char* b, std::size_t size) {
  if (size < 8) return first_bytes(a, size) == first_bytes(b, size);
  if (size > 64) return std::memcmp(a, b, size) == 0;
  for (std::size_t at = 0; at + 8 < size; at += 8) {
    if (std::memcmp(a + at, b + at, 8) != 0) return false;
  }
  return std::memcmp(a + size - 8, b + size - 8, 8) == 0;
}

}  // namespace headroom::trace::readers
