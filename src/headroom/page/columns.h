// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/json.h"

namespace headroom {

/// The columns of a table as arrays, which say each name once: of 10,000 cases that is half of the page.
class Columns {
 public:
  void set(const char* column, Json value) {
    const auto found = std::ranges::find(columns_, column, &Column::name);
    Column& place = found == columns_.end() ? columns_.emplace_back(Column{column}) : *found;
    if (value.is_null()) return;
    place.values.resize(count_);
    place.values.push_back(std::move(value));
  }
  void next() { ++count_; }

  Json json() && {
    Json all = Json::object();
    for (Column& column : columns_) {
      if (column.values.empty()) continue;
      column.values.resize(count_);
      all[column.name] = Json(column.values);
    }
    return all;
  }

 private:
  struct Column {
    std::string name;
    std::vector<Json> values{};
  };
  std::vector<Column> columns_;
  std::size_t count_ = 0;
};

/// Texts that many rows share, each once: rows have their numbers.
class TextIndex {
 public:
  std::size_t of(const std::string& text) {
    const auto [place, is_new] = numbers_.try_emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return place->second;
  }
  Json json() const { return texts_; }

 private:
  std::map<std::string, std::size_t> numbers_;
  std::vector<std::string> texts_;
};

}  // namespace headroom
