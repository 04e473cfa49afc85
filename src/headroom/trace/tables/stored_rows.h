// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "headroom/trace/tables/data_table.h"

namespace headroom::trace {

/// The table of that key among those of a rank. Throws Error where there is none, or one of fewer rows.
const DataTable& stored_table(std::span<const DataTable> tables, std::string_view key,
                              std::size_t least_rows = 0);

/// A table that was kept for Analysis::combine, read by the keys of its columns. It may have travelled as
/// JSON, so that a whole number is an integer or a double. Every access throws Error naming the table and the
/// column when the cell is not what is asked for.
class StoredRows {
 public:
  explicit StoredRows(const DataTable& table) : table_(table) {}
  std::size_t size() const { return table_.rows.size(); }
  std::string text(std::size_t row, std::string_view key) const;
  std::int64_t integer(std::size_t row, std::string_view key) const;
  /// `otherwise` for an empty cell.
  std::int64_t integer_or(std::size_t row, std::string_view key, std::int64_t otherwise) const;
  double number(std::size_t row, std::string_view key) const;

 private:
  const Cell& cell(std::size_t row, std::string_view key) const;
  const DataTable& table_;
};

}  // namespace headroom::trace
