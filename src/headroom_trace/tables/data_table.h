// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// a + b, saturating: times of a damaged file must not wrap round.
constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

/// Count, sum, extremes, mean and spread of durations, one at a time.
class DurationStats {
 public:
  void add(std::int64_t duration_ns);
  std::int64_t count() const { return count_; }
  std::int64_t total_ns() const { return total_; }
  std::int64_t min_ns() const { return min_; }  ///< 0 of none
  std::int64_t max_ns() const { return max_; }
  double mean_ns() const { return mean_; }
  /// Sample standard deviation (n - 1), as in pandas; 0 for fewer than two.
  double standard_deviation_ns() const;

 private:
  std::int64_t count_ = 0, total_ = 0, min_ = 0, max_ = 0;
  double mean_ = 0, squares_ = 0;  // Welford's sums
};

/// The kind of a column, which decides how it is shown: times in a table as "1.25 ms", in JSON and CSV as
/// numbers with the unit in the column's key.
enum class Kind {
  kText,
  kCount,      ///< a number of things
  kTimeNs,     ///< nanoseconds
  kInstantNs,  ///< nanoseconds on the trace's clock
  kBytes,
  kShare,  ///< 0..1, shown as a percentage
  kGigabytesPerSecond,
  kGigaflopsPerSecond,
  kNumber  ///< any other number
};

/// A cell: empty (unknown or undefined), text, or a number.
struct Cell : std::variant<std::monostate, std::string, std::int64_t, double> {
  using variant::variant;
  // Defined once: tables copy and move cells everywhere.
  Cell() noexcept;
  Cell(const Cell& other);
  Cell(Cell&& other) noexcept;
  Cell& operator=(const Cell& other);
  Cell& operator=(Cell&& other) noexcept;
  ~Cell();
};

struct Column {
  std::string key;    ///< snake_case with the unit: "total_ns"; what JSON and CSV call it
  std::string title;  ///< what the table calls it: "total"
  Kind kind = Kind::kText;
};

/// A table of an analysis, unformatted.
struct DataTable {
  std::string key;    ///< "kernels"; what JSON calls it
  std::string title;  ///< "kernels by total time"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< each of the columns' length
  bool is_for_combining = false;        ///< raw rows for scripts: in JSON only
  bool is_in_answer = false;            ///< repeats AnalysisResult::answer: in JSON and CSV only
};

inline Cell count_cell(std::size_t count) {
  return static_cast<std::int64_t>(count);
}
/// Device or stream number; empty if the file has none.
inline Cell number_cell(std::int64_t number) {
  return number < 0 ? Cell{} : Cell{number};
}
/// part / whole; empty if whole <= 0.
inline Cell share_cell(std::int64_t part, std::int64_t whole) {
  return whole > 0 ? Cell{static_cast<double>(part) / static_cast<double>(whole)} : Cell{};
}
/// Same for doubles.
inline Cell quotient_cell(double part, double whole) {
  if (whole > 0) return part / whole;
  return {};
}
/// Empty for an empty text.
inline Cell text_cell(const std::string& text) {
  return text.empty() ? Cell{} : Cell{text};
}
inline Cell name_cell(const Trace& trace, NameId name) {
  return name == kNoName ? Cell{} : Cell{std::string(trace.names[name])};
}
/// Name of a row of Trace::events; empty for kNone.
inline Cell event_cell(const Trace& trace, std::uint32_t event) {
  return event == kNone ? Cell{} : name_cell(trace, trace.events.name[event]);
}

/// The spread of durations. Quantiles interpolate between neighbours (stats/quantile.h).
struct TimeSpread {
  std::size_t count = 0;
  std::int64_t total_ns = 0, max_ns = 0;
  double median_ns = 0, p95_ns = 0, p99_ns = 0;
};
/// All zero without times.
TimeSpread time_spread(const std::vector<std::int64_t>& times_ns);

}  // namespace headroom::trace
