// SPDX-License-Identifier: Apache-2.0
#include "headroom/files/toml_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstddef>

#include "headroom/base/error.h"

namespace headroom {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_non_ascii(char c) {
  return static_cast<unsigned char>(c) >= 0x80;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

bool is_name_start(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '"' || c == '\'';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool ends_with_date(std::string_view text) {
  constexpr std::string_view kForm = "0000-00-00";
  if (text.size() < kForm.size()) return false;
  text.remove_prefix(text.size() - kForm.size());
  return std::ranges::equal(text, kForm, {}, [](char c) { return is_digit(c) ? '0' : c; });
}

/// Must stop where toml++ stops, at the first error.
class TomlWalk {
 public:
  TomlWalk(std::string_view text, const std::string& source) : text_(text), source_(source) {
    if (text_.starts_with(kByteOrderMark)) place_ = kByteOrderMark.size();
  }

  void walk() {
    while (place_ < text_.size()) {
      skip_blanks();
      if (here() == '[') check_header();
      walk_statement();
    }
  }

 private:
  char here(std::size_t ahead = 0) const {
    return place_ + ahead < text_.size() ? text_[place_ + ahead] : '\0';
  }

  void skip_blanks() {
    while (here() == ' ' || here() == '\t') ++place_;
  }

  void check_header() {
    const bool is_double = here(1) == '[';
    place_ += is_double ? 2 : 1;
    skip_blanks();
    // toml++ reports these.
    const bool is_known = place_ == text_.size() || here() == ']' || (here() == '[' && !is_double);
    if (!is_known && !is_name_start(here()) && !is_non_ascii(here()))
      refuse("a header needs a name: [name] or [[name]]");
  }

  void walk_statement() {
    open_.clear();
    is_value_ = false;
    while (place_ < text_.size()) {
      const char c = text_[place_];
      if (c == '"' || c == '\'') {
        require_free_start();
        skip_string(c);
        continue;
      }
      if (c == '#') {
        place_ = std::min(text_.find('\n', place_), text_.size());
        continue;
      }
      if (is_non_ascii(c))
        refuse("a non-ASCII character outside strings and comments; quote such names and text");
      if ((c == 'T' || c == 't') && !is_digit(here(1)) && ends_with_date(text_.substr(0, place_)))
        refuse("a date with T needs a time after it: 1979-05-27T07:32:00");
      if (c == ' ') require_one_value();
      take_structure(c);
      ++place_;
      if (c == '\n' && open_.empty()) return;
    }
  }

  /// toml++ ignores quotes and brackets when looking for the end of a number.
  void require_free_start() const {
    constexpr std::string_view kBefore = "=[, \t\r\n";
    if (is_value_ && place_ > 0 && kBefore.find(text_[place_ - 1]) == std::string_view::npos)
      refuse(fmt::format("{} in the middle of a value", text_[place_]));
  }

  /// Only a time, which begins with two digits, may follow a blank.
  void require_one_value() const {
    const bool is_within =
        is_value_ && place_ > 0 &&
        (is_name_start(text_[place_ - 1]) || text_[place_ - 1] == '.' || text_[place_ - 1] == '+');
    if (is_within && is_digit(here(1)) && !is_digit(here(2))) refuse("a digit after a value");
  }

  void take_structure(char c) {
    if (c == '[' || c == '{') require_free_start();
    if (c == '[') open_ += ']';
    if (c == '{') open_ += '}';
    if ((c == ']' || c == '}') && !open_.empty()) {
      if (open_.back() != c) refuse(fmt::format("{} where {} must close first", c, open_.back()));
      open_.pop_back();
      is_value_ = true;
    }
    if (c == '=' && is_value_) refuse("= in the middle of a value");
    if (c == '=' || c == '[') is_value_ = true;
    if (c == '{') is_value_ = false;
    if (c == ',' && !open_.empty()) is_value_ = open_.back() == ']';
  }

  void skip_string(char quote) {
    const bool is_long = here(1) == quote && here(2) == quote;
    place_ += is_long ? 3 : 1;
    while (place_ < text_.size()) {
      const char c = text_[place_];
      if (c == '\n' && !is_long) return;
      if (c == '\\' && quote == '"') skip_backslash();
      if (c == quote && (!is_long || (here(1) == quote && here(2) == quote))) break;
      ++place_;
    }
    place_ = std::min(place_ + (is_long ? 3 : 1), text_.size());
    // Two quotes may precede the closing three.
    for (int more = 0; is_long && more < 2 && here() == quote; ++more) ++place_;
  }

  /// Skips blanks that toml++ strips.
  void skip_backslash() {
    const std::size_t next = text_.find_first_not_of(" \t\r\n\v\f", place_ + 1);
    if (next != std::string_view::npos && is_non_ascii(text_[next])) {
      place_ = next;
      refuse("a non-ASCII character after a backslash; write it as \\u00E9");
    }
    ++place_;
  }

  [[noreturn]] void refuse(const std::string& what) const {
    const std::string_view before = text_.substr(0, place_);
    const auto line = std::ranges::count(before, '\n') + 1;
    const std::string_view own = before.substr(before.rfind('\n') + 1);
    const auto column = std::ranges::count_if(own, [](char c) { return !is_continuation(c); }) + 1;
    throw Error(fmt::format("{}: line {}, column {}: {}", source_, line, column, what));
  }

  std::string_view text_;
  const std::string& source_;
  std::size_t place_ = 0;
  std::string open_;       ///< closing brackets still expected
  bool is_value_ = false;  ///< next token is a value
};

}  // namespace

void refuse_impossible_toml(std::string_view text, const std::string& source) {
  TomlWalk(text, source).walk();
}

void refuse_at(const toml::source_region& region, const std::string& source, const std::string& what) {
  throw Error(
      fmt::format("{}: line {}, column {}: {}", source, region.begin.line, region.begin.column, what));
}

toml::table parse_toml(std::string_view text, const std::string& source) {
  refuse_impossible_toml(text, source);
  try {
    return toml::parse(text, source);
  } catch (const toml::parse_error& error) {
    refuse_at(error.source(), source, std::string(error.description()));
  }
}

std::vector<TomlTable> toml_tables(const toml::node& node, const std::string& key,
                                   const std::string& source) {
  const toml::array* tables = node.as_array();
  if (tables == nullptr) {
    refuse_at(node.source(), source,
              fmt::format(
                  "'{0}' is not an array of tables: write [[{0}]], with two brackets, before each {0}", key));
  }
  std::vector<TomlTable> all;
  for (const toml::node& table : *tables) {
    if (!table.is_table())
      refuse_at(table.source(), source, fmt::format("a {0} is a table: write [[{0}]] before it", key));
    all.emplace_back(*table.as_table(), source);
  }
  return all;
}

}  // namespace headroom
