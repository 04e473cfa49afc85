// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// Escapes control characters (except line ends and tabs), bidirectional marks and invalid UTF-8 ("\x1B",
/// "\u202E").
std::string visible(std::string_view text);

/// Quotes visible() text on one line.
std::string quote(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trimmed(std::string_view text);

constexpr bool is_json_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Independent of the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// By edit distance or prefix, nearest first.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates,
                                 std::size_t count = 3);

/// "; did you mean 'gemv' or 'gather_gemv'?", or empty.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// Parses the whole text.
std::optional<std::int64_t> to_integer(std::string_view text);
std::optional<double> to_number(std::string_view text);

/// Counts code points; for terminal columns see tables/width.h.
std::size_t character_count(std::string_view text);

/// 0 if invalid (Unicode standard, table 3-7).
std::size_t utf8_length(std::string_view text);

/// Of a valid sequence of two to four bytes.
std::uint32_t code_point(std::string_view sequence);

/// False if it replaced a byte by U+FFFD.
bool append_valid_utf8(std::string_view text, std::string& out);

/// Matches '*' with any characters, '?' with one.
bool fits_glob(std::string_view pattern, std::string_view text);

/// For XML or HTML elements and double-quoted attributes. ASCII control characters not in `kept` become
/// `control`.
std::string markup_text(std::string_view text, std::string_view control, std::string_view kept = {});

/// "1 case", "12 cases".
std::string counted(std::size_t count, std::string_view noun);

const char* is_or_are(std::size_t count);

/// "xxxx... (6.01 MiB, #9f86d081)" for long texts, with a hash of the whole.
std::string abridged(std::string_view text, std::size_t longest);

}  // namespace headroom
