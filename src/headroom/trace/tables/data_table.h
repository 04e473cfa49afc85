// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace headroom::trace {

/// What a column holds, which says how it is shown: times in a table as "1.25 ms", in JSON and CSV as numbers
/// with the unit in the column's key.
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

/// A cell: nothing (not known, not defined), text, or a number.
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

/// A table of an analysis, before anyone decided how to print it.
struct DataTable {
  std::string key;    ///< "kernels"; what JSON calls it
  std::string title;  ///< "kernels by total time"
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< each of the columns' length
  bool is_for_combining = false;  ///< raw rows for Analysis::combine: in JSON, in no table that people read
  bool is_in_answer =
      false;  ///< AnalysisResult::answer says it: in JSON and CSV, in no table that people read
};

}  // namespace headroom::trace
