// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/base/toml_document.h"

namespace headroom {

using Texts = std::vector<std::string>;

/// One table of the file with what its errors need.
class SuiteTable {
 public:
  SuiteTable(const toml::table& table, const std::string& source) : table_(table), source_(source) {}

  [[noreturn]] void refuse(const toml::source_region& region, const std::string& what) const {
    refuse_at(region, source_, what);
  }
  [[noreturn]] void refuse(const char* key, const std::string& what) const {
    refuse(table_.contains(key) ? table_.get(key)->source() : table_.source(), what);
  }
  /// An Error of `body` gets the place of the key.
  template <typename Body>
  auto at(const toml::node& node, Body&& body) const {
    try {
      return body();
    } catch (const Error& error) {
      refuse(node.source(), error.what());
    }
  }

  void only(const Texts& keys) const {
    for (const auto& [key, value] : table_) {
      if (std::ranges::find(keys, key.str()) != keys.end()) continue;
      refuse(key.source(), "unknown key " + in_quotes(key.str()) + did_you_mean(key.str(), keys) +
                               "; known are " + join(keys, ", "));
    }
  }
  bool has(const char* key) const { return table_.contains(key); }
  const toml::table& table() const { return table_; }
  const std::string& source() const { return source_; }

  std::string text(const char* key, const std::string& fallback = "") const {
    const toml::node* node = table_.get(key);
    return node == nullptr ? fallback : text_of(*node, in_quotes(key));
  }
  std::string required_text(const char* key) const {
    if (!has(key)) refuse(table_.source(), fmt::format("'{}' is missing", key));
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
  /// The strings of an array; `judge` may throw Error about one of them, and gets its place.
  Texts texts(const char* key, const std::function<void(const std::string&)>& judge = {}) const {
    const toml::node* node = table_.get(key);
    return node == nullptr ? Texts{} : texts_of(*node, in_quotes(key), judge);
  }
  Texts texts_of(const toml::node& node, const std::string& what,
                 const std::function<void(const std::string&)>& judge) const {
    if (!node.is_array()) refuse(node.source(), what + " is not a list of strings");
    Texts result;
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
  std::optional<SuiteTable> sub_table(const char* key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_table()) refuse(key, fmt::format("'{}' is not a table", key));
    return SuiteTable(*node->as_table(), source_);
  }

 private:
  const toml::table& table_;
  const std::string& source_;
};

}  // namespace headroom
