// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Saturates, because times of a damaged file may overflow.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

class DurationStats {
 public:
  void add(std::int64_t duration_ns);
  std::int64_t count() const { return count_; }
  std::int64_t total_ns() const { return total_; }
  std::int64_t min_ns() const { return min_; }  ///< 0 if empty
  std::int64_t max_ns() const { return max_; }
  double mean_ns() const { return mean_; }
  /// Sample standard deviation (n - 1), as in pandas; 0 for fewer than two.
  double standard_deviation_ns() const;

 private:
  std::int64_t count_ = 0, total_ = 0, min_ = 0, max_ = 0;
  double mean_ = 0, squares_ = 0;  // Welford's sums
};

/// Times are "1.25 ms" in tables, numbers with the unit in the key in JSON and CSV.
enum class Kind {
  kText,
  kCount,
  kTimeNs,
  kInstantNs,  ///< on the trace's clock
  kBytes,
  kShare,  ///< 0..1, shown as a percentage
  kGigabytesPerSecond,
  kGigaflopsPerSecond,
  kNumber
};

/// An empty cell is unknown or undefined.
struct Cell : std::variant<std::monostate, std::string, std::int64_t, double> {
  using variant::variant;
  // Out of line: tables copy and move cells everywhere.
  Cell() noexcept;
  Cell(const Cell& other);
  Cell(Cell&& other) noexcept;
  Cell& operator=(const Cell& other);
  Cell& operator=(Cell&& other) noexcept;
  ~Cell();
};

/// On narrow terminals, the last ones are left out first.
enum class Importance : std::uint8_t { kKey, kMain, kNormal, kDetail };

struct Column {
  std::string key;    ///< in JSON and CSV, with the unit: "total_ns"
  std::string title;  ///< in tables: "total"
  Kind kind = Kind::kText;
  Importance importance = Importance::kNormal;

  /// Identifies the row, as the first column does: never left out.
  Column identifying() const { return with(Importance::kKey); }
  Column main() const { return with(Importance::kMain); }
  Column detail() const { return with(Importance::kDetail); }

  /// Without a title, the key in words without its unit: "total_ns" is "total".
  static Column of(Kind kind, std::string key, const char* title = nullptr);
  static Column text(const char* key, const char* title = nullptr) { return of(Kind::kText, key, title); }
  static Column count(const char* key, const char* title = nullptr) { return of(Kind::kCount, key, title); }
  static Column time(const char* key, const char* title = nullptr) { return of(Kind::kTimeNs, key, title); }
  static Column instant(const char* key, const char* title = nullptr) {
    return of(Kind::kInstantNs, key, title);
  }
  static Column bytes(const char* key, const char* title = nullptr) { return of(Kind::kBytes, key, title); }
  static Column share(const char* key, const char* title = nullptr) { return of(Kind::kShare, key, title); }
  static Column bandwidth(const char* key, const char* title) {
    return of(Kind::kGigabytesPerSecond, key, title);
  }
  static Column flops(const char* key, const char* title) {
    return of(Kind::kGigaflopsPerSecond, key, title);
  }
  static Column number(const char* key, const char* title = nullptr) { return of(Kind::kNumber, key, title); }

 private:
  Column with(Importance value) const { return {key, title, kind, value}; }
};

struct DataTable {
  std::string key;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};  ///< one cell per column
  bool is_for_combining = false;             ///< JSON only
  bool is_in_answer = false;                 ///< repeats AnalysisResult::answer: JSON and CSV only
};

void add_columns(DataTable& table, std::initializer_list<Column> more);

inline Cell count_cell(std::size_t count) {
  return static_cast<std::int64_t>(count);
}
/// Empty for a negative number.
inline Cell number_cell(std::int64_t number) {
  return number < 0 ? Cell{} : Cell{number};
}
/// Empty for whole <= 0.
inline Cell share_cell(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? Cell{static_cast<double>(part) / static_cast<double>(whole)} : Cell{};
}
inline Cell quotient_cell(double part, double whole) {
  if (whole > 0) return part / whole;
  return {};
}
inline Cell text_cell(const std::string& text) {
  return text.empty() ? Cell{} : Cell{text};
}
inline Cell name_cell(const Trace& trace, NameId name) {
  return name == kNoName ? Cell{} : Cell{std::string(trace.names[name])};
}
inline Cell event_cell(const Trace& trace, std::uint32_t event) {
  return event == kNone ? Cell{} : name_cell(trace, trace.events.name[event]);
}

/// Quantiles interpolate (stats/quantile.h).
struct TimeSpread {
  std::size_t count = 0;
  std::int64_t total_ns = 0, max_ns = 0;
  double median_ns = 0, p95_ns = 0, p99_ns = 0;
};
/// All zero without times.
TimeSpread time_spread(const std::vector<std::int64_t>& times_ns);

}  // namespace headroom::trace
