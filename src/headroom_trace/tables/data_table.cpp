// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/tables/data_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headroom/base/error.h"
#include "headroom/stats/quantile.h"

namespace headroom::trace {
namespace {

[[noreturn]] void refuse(const DataTable& table, std::string_view key, const char* what) {
  throw Error(fmt::format("table {}: column {}: {}; was it made by another version?", table.key, key, what));
}

}  // namespace

void DurationStats::add(std::int64_t duration_ns) {
  min_ = count_ == 0 ? duration_ns : std::min(min_, duration_ns);
  max_ = count_ == 0 ? duration_ns : std::max(max_, duration_ns);
  ++count_;
  total_ = saturating_add(total_, duration_ns);
  const double value = static_cast<double>(duration_ns), off = value - mean_;
  mean_ += off / static_cast<double>(count_);
  squares_ += off * (value - mean_);
}

double DurationStats::standard_deviation_ns() const {
  return count_ < 2 ? 0 : std::sqrt(squares_ / static_cast<double>(count_ - 1));
}

Cell::Cell() noexcept = default;
Cell::Cell(const Cell& other) = default;
Cell::Cell(Cell&& other) noexcept = default;
Cell& Cell::operator=(const Cell& other) = default;
Cell& Cell::operator=(Cell&& other) noexcept = default;
Cell::~Cell() = default;

TimeSpread time_spread(const std::vector<std::int64_t>& times_ns) {
  TimeSpread spread;
  if (times_ns.empty()) return spread;
  spread.count = times_ns.size();
  spread.max_ns = std::ranges::max(times_ns);
  std::vector<double> values;
  values.reserve(times_ns.size());
  for (const std::int64_t time : times_ns) {
    spread.total_ns = saturating_add(spread.total_ns, time);
    values.push_back(static_cast<double>(time));
  }
  spread.median_ns = quantile(values, 0.5);
  spread.p95_ns = quantile(values, 0.95);
  spread.p99_ns = quantile(values, 0.99);
  return spread;
}

const DataTable& stored_table(std::span<const DataTable> tables, std::string_view key,
                              std::size_t least_rows) {
  const auto found = std::ranges::find(tables, key, &DataTable::key);
  if (found == tables.end() || found->rows.size() < least_rows)
    throw Error(fmt::format("the result of a rank has no table {}; was it made by another version?", key));
  return *found;
}

const Cell& StoredRows::cell(std::size_t row, std::string_view key) const {
  const auto found = std::ranges::find(table_.columns, key, &Column::key);
  const auto column = static_cast<std::size_t>(found - table_.columns.begin());
  if (found == table_.columns.end() || column >= table_.rows[row].size()) refuse(table_, key, "missing");
  return table_.rows[row][column];
}

std::string StoredRows::text(std::size_t row, std::string_view key) const {
  const Cell& found = cell(row, key);
  if (std::holds_alternative<std::monostate>(found)) return "";
  if (const auto* text = std::get_if<std::string>(&found)) return *text;
  refuse(table_, key, "not a text");
}

std::int64_t StoredRows::integer(std::size_t row, std::string_view key) const {
  const Cell& found = cell(row, key);
  if (const auto* integer = std::get_if<std::int64_t>(&found)) return *integer;
  const auto* number = std::get_if<double>(&found);
  if (number == nullptr || std::abs(*number) >= 0x1p63 || *number != std::floor(*number))
    refuse(table_, key, "not a whole number");
  return static_cast<std::int64_t>(*number);
}

std::int64_t StoredRows::integer_or(std::size_t row, std::string_view key, std::int64_t otherwise) const {
  return std::holds_alternative<std::monostate>(cell(row, key)) ? otherwise : integer(row, key);
}

double StoredRows::number(std::size_t row, std::string_view key) const {
  const Cell& found = cell(row, key);
  if (const auto* integer = std::get_if<std::int64_t>(&found)) return static_cast<double>(*integer);
  if (const auto* number = std::get_if<double>(&found)) return *number;
  refuse(table_, key, "not a number");
}

}  // namespace headroom::trace
