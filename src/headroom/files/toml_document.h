// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"

namespace headroom {

/// Throws Error for invalid TOML 1.0 on which toml++ 3.3 fails an assertion or has undefined behaviour: a
/// non-ASCII character outside strings and comments, a header without a name, a date with half a time,
/// mismatched brackets, or a quote, bracket or = inside a value; and for a valid non-ASCII character after a
/// line-joining backslash.
void refuse_impossible_toml(std::string_view text, const std::string& source);

/// Throws Error("source: line 3, column 7: what").
[[noreturn]] void refuse_at(const toml::source_region& region, const std::string& source,
                            const std::string& what);

/// Throws Error with `source`, line and column.
toml::table parse_toml(std::string_view text, const std::string& source);

/// Throws Error with line and column for a missing or mistyped member.
class TomlTable {
 public:
  TomlTable(const toml::table& table, const std::string& source) : table_(table), source_(source) {}

  [[noreturn]] void refuse(const toml::source_region& region, const std::string& what) const {
    refuse_at(region, source_, what);
  }
  [[noreturn]] void refuse(const char* key, const std::string& what) const {
    refuse(table_.contains(key) ? table_.get(key)->source() : table_.source(), what);
  }
  template <typename Body>
  auto at(const toml::node& node, Body&& body) const {
    try {
      return body();
    } catch (const Error& error) {
      refuse(node.source(), error.what());
    }
  }

  /// `before` the list of keys in the message.
  void only(const std::vector<std::string>& keys, const char* before = "known:") const {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      refuse(key.source(), "unknown key " + quote(key.str()) + did_you_mean(key.str(), keys) + "; " + before +
                               " " + join(keys, ", "));
    }
  }
  bool has(const char* key) const { return table_.contains(key); }
  const toml::table& table() const { return table_; }
  const std::string& source() const { return source_; }

  std::string text(const char* key, const std::string& fallback = "") const {
    const toml::node* node = table_.get(key);
    return node == nullptr ? fallback : text_of(*node, quote(key));
  }
  void require(const char* key) const {
    if (!has(key)) refuse(table_.source(), fmt::format("'{}' is missing", key));
  }
  std::string required_text(const char* key) const {
    require(key);
    std::string value = text(key);
    if (value.empty()) refuse(key, fmt::format("'{}' is empty", key));
    return value;
  }
  bool flag(const char* key, bool fallback) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return fallback;
    if (!node->is_boolean()) refuse(key, fmt::format("'{}' is neither true nor false", key));
    return node->as_boolean()->get();
  }
  std::int64_t count(const char* key, std::int64_t fallback) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return fallback;
    const std::int64_t value = node->is_integer() ? node->as_integer()->get() : 0;
    if (value < 1) refuse(key, fmt::format("'{}' is not a whole number above 0", key));
    return value;
  }
  double number(const char* key) const {
    const toml::node& node = *table_.get(key);
    const std::optional<double> value = node.is_number() ? node.value<double>() : std::nullopt;
    if (!value || !std::isfinite(*value) || *value <= 0) {
      refuse(key, fmt::format("'{}' is not a number above 0", key));
    }
    return *value;
  }
  std::vector<std::string> texts(const char* key,
                                 const std::function<void(const std::string&)>& judge = {}) const {
    const toml::node* node = table_.get(key);
    return node == nullptr ? std::vector<std::string>{} : texts_of(*node, quote(key), judge);
  }
  std::vector<std::string> texts_of(const toml::node& node, const std::string& what,
                                    const std::function<void(const std::string&)>& judge) const {
    if (!node.is_array()) refuse(node.source(), what + " is not a list of strings");
    std::vector<std::string> result;
    for (const toml::node& element : *node.as_array()) {
      result.push_back(text_of(element, "an element of " + what));
      if (judge) at(element, [&] { judge(result.back()); });
    }
    return result;
  }
  std::string text_of(const toml::node& node, const std::string& what) const {
    if (!node.is_string()) refuse(node.source(), what + " is not a string");
    return node.as_string()->get();
  }
  std::optional<TomlTable> sub_table(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_table()) refuse(key, fmt::format("'{}' is not a table", key));
    return TomlTable(*node->as_table(), source_);
  }

 private:
  const toml::table& table_;
  const std::string& source_;
};

/// Tables of [[key]]. Throws Error for another node.
std::vector<TomlTable> toml_tables(const toml::node& node, const std::string& key, const std::string& source);

}  // namespace headroom
