// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/decimal_text.h"

#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>

#include "headroom/base/json_number.h"
#include "headroom/base/text.h"

namespace headroom {
namespace {

/// The eight characters at `at` as a number below 1e8, or nothing where one is no digit. Eight digits at a
/// time: the sums of pairs, of pairs of pairs, and of those, in the lanes of one word.
std::optional<std::uint64_t> eight_digits(const char* at) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  const std::uint64_t digits = word - 0x3030303030303030u;
  if (((digits | (word + 0x4646464646464646u)) & 0x8080808080808080u) != 0) return std::nullopt;
  const std::uint64_t pairs = digits * 10 + (digits >> 8);
  return ((pairs & 0x000000ff000000ffu) * 0x000f424000000064u +
          (pairs >> 16 & 0x000000ff000000ffu) * 0x0000271000000001u) >>
         32;
}

struct PlainDecimal {
  std::uint64_t multiple;  ///< of 1e-19
  const char* end;
};

/// A number of the form 0.123 or 1.123 that a DecimalSample holds exactly, or nothing. Reads up to 24
/// characters.
std::optional<PlainDecimal> plain_decimal(const char* at) {
  static constexpr std::array<std::uint64_t, 20> kPowers = [] {
    std::array<std::uint64_t, 20> powers{1};
    for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = powers[i - 1] * 10;
    return powers;
  }();
  if ((at[0] != '0' && at[0] != '1') || at[1] != '.') return std::nullopt;
  const char* const first = at + 2;
  const char* digit = first;
  std::uint64_t decimals = 0;
  for (int i = 0; i < 2; ++i) {
    const auto eight = eight_digits(digit);
    if (!eight) break;
    decimals = decimals * 100'000'000 + *eight;
    digit += 8;
  }
  while (is_digit(*digit) && digit - first < DecimalSample::kDecimals) {
    decimals = decimals * 10 + static_cast<std::uint64_t>(*digit++ - '0');
  }
  // Anything but the end of the number, an exponent or more digits, is for the slow path.
  if (digit == first || is_digit(*digit) || *digit == 'e' || *digit == 'E' || *digit == '.')
    return std::nullopt;
  decimals *= kPowers[static_cast<std::size_t>(DecimalSample::kDecimals - (digit - first))];
  if (at[0] == '1' && __builtin_add_overflow(decimals, kPowers[DecimalSample::kDecimals], &decimals))
    return std::nullopt;
  return PlainDecimal{decimals, digit};
}

/// As long as the numbers have the usual form and lie well inside the text.
const char* take_plain_decimals(const char* at, const char* end, DecimalSample& sample) {
  constexpr std::ptrdiff_t kLongest = 32;
  while (end - at > kLongest) {
    const auto number = plain_decimal(at);
    if (!number || *number->end != ',') break;
    sample.add_decimal(number->multiple);
    at = number->end + (number->end[1] == ' ' ? 2 : 1);
  }
  return at;
}

}  // namespace

void read_numbers(JsonStream& stream, DecimalSample& sample) {
  stream.numbers(
      [&sample](const char* begin, const char* end) { return take_plain_decimals(begin, end, sample); },
      [&](std::string_view token) {
        if (token.empty() || token == "null") stream.refuse("expected a number");
        if (token == "NaN") return sample.add_double(std::numeric_limits<double>::quiet_NaN());
        constexpr double kInfinity = std::numeric_limits<double>::infinity();
        if (token.ends_with("Infinity")) return sample.add_double(token[0] == '-' ? -kInfinity : kInfinity);
        // What stands behind the token in the window is no digit, but the copy is longer than what is read.
        const auto plain =
            token.size() < 24 ? plain_decimal(std::string(token).append(24, '\0').c_str()) : std::nullopt;
        if (plain) {
          sample.add_decimal(plain->multiple);
        } else {
          sample.add_double(json_number_value(token));
        }
      });
}

}  // namespace headroom
