// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/tables/table.h"

namespace headroom {

/// The records of one case, backend and runner, shown as one row. Does not own them.
struct CaseRow {
  const Record* latency = nullptr;   ///< the record of the metric "latency", if any
  const Record* headline = nullptr;  ///< the record to show; if unmarked, the only or last one

  const Record* overhead = nullptr;  ///< overhead of measuring, if it was measured
  const Record* gpu = nullptr;       ///< share of the time with GPU work, for a traced case
  const Record* mm_conv = nullptr;   ///< as gpu, for matrix products and convolutions

  /// Returns either record, for the data they share: axes, limit, outcome.
  const Record& any() const { return headline != nullptr ? *headline : *latency; }
};

/// Groups records into rows, in order of first appearance. Rows of one case, from other backends and runners,
/// are adjacent.
std::vector<CaseRow> case_rows(const std::vector<Record>& records);

/// Returns a key that is equal for the records of one row.
std::string row_key(const Record& record);

/// Returns "gemv D=1024": the case without its dtype. Shortens very long names and values.
std::string case_text(const Record& record);
/// Returns case_name(record), with very long names and values shortened.
std::string shown_case_name(const Record& record);

/// Properties in which the records differ, and which names must therefore include.
struct CaseDifferences {
  bool runners = false, caches = false, threads = false, modes = false;

  explicit CaseDifferences(const std::vector<Record>& records);
  /// Returns case_text with the mode, caches and threads that differ: "gemv D=1024 hot 2 threads".
  std::string case_text(const Record& record) const;
  /// Returns "native", or "native [mine]" if runners differ and backend and runner have different names.
  std::string backend_text(const Record& record) const;
};

/// The records of one case: the first, and the measured ones by metric.
struct MeasuredCase {
  const Record* first = nullptr;
  std::map<std::string, const Record*> metrics{};

  /// Returns nullptr if the case was not measured or lacks the metric.
  const Record* find(const std::string& metric) const;
};

/// Groups consecutive records of the same model, axes, backend and runner.
std::vector<MeasuredCase> measured_cases(const std::vector<Record>& records);

/// Returns a line for each unmeasured case: "FAILED: add: reason". `name` is called with its first record.
std::string text_of_unmeasured(const std::vector<MeasuredCase>& cases,
                               const std::function<std::string(const Record&)>& name);

/// Adds a sentence if cases failed, or all were skipped: how many, and the reason of the first. `name` is
/// called with a case's first record.
void answer_unmeasured(Sheet& sheet, const std::vector<MeasuredCase>& cases,
                       const std::function<std::string(const Record&)>& name);

/// Further columns of a case: title and text.
using CaseKeys = std::vector<std::pair<std::string, std::function<std::string(const Record&)>>>;
/// Titles and metrics of columns.
using RankMetrics = std::vector<std::pair<std::string, std::string>>;

/// Makes a row for each rank of each case that has the first of `metrics`, a time with samples of each rank:
/// the rank's median of each metric, and the sample count of the first. `records` are all records of the run,
/// to choose unambiguous names.
Table rank_table(const std::vector<MeasuredCase>& cases, const std::vector<Record>& records,
                 const std::string& title, const CaseKeys& keys, const RankMetrics& metrics);

}  // namespace headroom
