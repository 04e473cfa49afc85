// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace headroom::trace::readers {

/// The bytes of one JSON value as the file has them, a string with its quotes.
using Raw = std::string_view;

/// The inside of a string; any other value as it stands. Nothing is unescaped.
inline Raw without_quotes(Raw value) {
  return value.size() < 2 || value.front() != '"' ? value : value.substr(1, value.size() - 2);
}

/// A time of an event, a base time, and a duration may each be this far from zero (73 years): their sum and
/// the difference of two such sums have room in 64 bits.
inline constexpr std::int64_t kMostNs = std::int64_t{1} << 61;

/// A time in microseconds, a number or a string of one, as whole nanoseconds: its decimals are taken as they
/// are written, never through a double; from the fourth on they round to nearest. Nothing when it is no
/// number or further from zero than kMostNs.
std::optional<std::int64_t> parse_microseconds(Raw value);

/// Whether a number, or a string of one, is what parse_microseconds refuses for its size alone.
bool is_number(Raw value);

/// A whole number, a number with decimals (which fall away), or a string of either. Above the int64 range it
/// wraps, as identifiers that programs write as uint64 do; nothing beyond uint64.
std::optional<std::int64_t> parse_whole(Raw value);

/// Any number or a string of one. Nothing for NaN and infinities: no analysis can use them.
std::optional<double> parse_real(Raw value);

/// An identifier: a whole number, hexadecimal after 0x, else a hash of the text: equal texts are equal ids.
std::int64_t parse_id(Raw value);

/// What stands between the quotes with its escapes resolved.
struct CleanText {
  std::string text;
  bool is_clean = true;  ///< false: a bad escape stayed as it is, or bytes that are no UTF-8 became U+FFFD
};
CleanText clean_text(std::string_view inside);

}  // namespace headroom::trace::readers
