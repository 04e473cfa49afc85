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

/// `text` made safe for a terminal or a page. Control characters (except line ends and tabs), marks that
/// change the writing direction, and invalid UTF-8 are escaped as "\x1B" or "\u202E".
std::string visible(std::string_view text);

/// `text` in single quotes, made visible and kept on one line ("\x0A"). For user input in messages.
std::string in_quotes(std::string_view text);

std::vector<std::string> split(std::string_view text, char separator);
std::string join(std::span<const std::string> parts, std::string_view separator);
std::string_view trimmed(std::string_view text);

/// White space in JSON.
constexpr bool is_json_space(char c) {
  return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// An ASCII digit, independent of the locale.
constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Returns up to `count` candidates nearest to `name` by edit distance, nearest first. Only plausible typing
/// errors and prefixes count.
std::vector<std::string> nearest(std::string_view name, std::span<const std::string> candidates,
                                 std::size_t count = 3);

/// "; did you mean 'gemv' or 'gather_gemv'?" or an empty string.
std::string did_you_mean(std::string_view name, std::span<const std::string> candidates);

/// The whole of `text` as a number, or nullopt if a character is left over.
std::optional<std::int64_t> to_integer(std::string_view text);
std::optional<double> to_number(std::string_view text);

/// Number of code points of `text` (UTF-8). For columns of a terminal see tables/width.h.
std::size_t character_count(std::string_view text);

/// Length in bytes of the well-formed sequence at the start of `text` (Unicode standard, table 3-7); 0 if
/// there is no such sequence.
std::size_t utf8_length(std::string_view text);

/// Appends `text` to `out` and replaces each byte of invalid UTF-8 by U+FFFD. Returns false if it replaced
/// any.
bool append_valid_utf8(std::string_view text, std::string& out);

/// Whether the whole of `text` matches `pattern`: '*' matches any characters, '?' matches one.
bool fits_glob(std::string_view pattern, std::string_view text);

/// Escapes `text` for XML or HTML, in an element or a double-quoted attribute. Replaces each ASCII control
/// character by `control`, except those in `kept`.
std::string markup_text(std::string_view text, std::string_view control, std::string_view kept = {});

}  // namespace headroom
