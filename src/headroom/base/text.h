// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

/// `text` as a terminal or a page may be given it: what would steer them (control characters of ASCII and of
/// Unicode but line ends and tabs, marks that turn the direction of writing) and bytes that are no UTF-8 are
/// spelled "\x1B", "\u202E". Text that has none of them is unchanged.
std::string visible(std::string_view text);

/// `text` in single quotes, visible, and in one line ("\x0A"): for naming user input in messages.
std::string in_quotes(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trimmed(std::string_view text);

/// What JSON takes as white space.
constexpr bool is_json_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// A decimal digit of ASCII, whatever the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// The up to `count` candidates nearest to `name` by edit distance, nearest first; only those near enough to
/// be a typing error or a prefix. For "did you mean".
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates,
                                 std::size_t count = 3);

/// "; did you mean 'gemv' or 'gather_gemv'?" or an empty string.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// The whole of `text` as a number; nothing when any character is left over.
std::optional<std::int64_t> to_integer(std::string_view text);
std::optional<double> to_number(std::string_view text);

/// Columns that `text` takes on a terminal (UTF-8; no combining or wide characters expected).
std::size_t display_width(std::string_view text);

}  // namespace headroom
