// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/tables/data_table.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom::trace {

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

Column Column::of(Kind kind, std::string key, const char* title) {
  if (title != nullptr) return {std::move(key), title, kind};
  std::string_view words = key;
  const std::string_view unit = kind == Kind::kBytes                                ? "_bytes"
                                : kind == Kind::kTimeNs || kind == Kind::kInstantNs ? "_ns"
                                                                                    : "";
  if (words.ends_with(unit)) words.remove_suffix(unit.size());
  std::string derived(words);
  std::ranges::replace(derived, '_', ' ');
  return {std::move(key), std::move(derived), kind};
}

void add_columns(DataTable& table, std::initializer_list<Column> more) {
  table.columns.insert(table.columns.end(), more);
}

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

}  // namespace headroom::trace
