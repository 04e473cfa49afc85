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

/// Records of one case, backend and runner; does not own them.
struct CaseRow {
  const Record* latency = nullptr;
  const Record* headline = nullptr;  ///< the record to show; if none is marked, the only or last one

  const Record* overhead = nullptr;
  const Record* gpu = nullptr;      ///< GPU utilization of a traced case
  const Record* mm_conv = nullptr;  ///< the same of matrix products and convolutions

  const Record& any() const { return headline != nullptr ? *headline : *latency; }
};

/// In order of first appearance; rows of one case are adjacent.
std::vector<CaseRow> case_rows(const std::vector<Record>& records);

std::string row_key(const Record& record);

/// "gemv D=1024", without dtype; abridges very long texts.
std::string case_text(const Record& record);
/// Abridges very long texts.
std::string shown_case_name(const Record& record);

/// Properties in which records differ.
struct CaseDifferences {
  bool runners = false, caches = false, threads = false, modes = false;

  explicit CaseDifferences(const std::vector<Record>& records);
  /// "gemv D=1024 hot 2 threads", with the differing properties.
  std::string case_text(const Record& record) const;
  /// "native", or "native [mine]" if runners differ.
  std::string backend_text(const Record& record) const;
};

/// The first record of a case, and the measured ones by metric.
struct MeasuredCase {
  const Record* first = nullptr;
  std::map<std::string, const Record*> metrics{};

  /// Nullptr if not measured.
  const Record* find(const std::string& metric) const;
};

/// Consecutive records of one case, backend and runner.
std::vector<MeasuredCase> measured_cases(const std::vector<Record>& records);

/// Lines "FAILED: add: reason". `name` names a case by its first record.
std::string text_of_unmeasured(const std::vector<MeasuredCase>& cases,
                               const std::function<std::string(const Record&)>& name);

/// Adds how many cases failed, or that all were skipped, with the first reason.
void answer_unmeasured(View& view, const std::vector<MeasuredCase>& cases,
                       const std::function<std::string(const Record&)>& name);

/// Title and text of additional columns.
using CaseKeys = std::vector<std::pair<std::string, std::function<std::string(const Record&)>>>;
/// Column title and metric.
using RankMetrics = std::vector<std::pair<std::string, std::string>>;

/// A row per rank of each case with the first of `metrics`, a time: medians, and the first's sample count.
/// `records`: all of the run, for unambiguous names.
Table rank_table(const std::vector<MeasuredCase>& cases, const std::vector<Record>& records,
                 const std::string& title, const CaseKeys& keys, const RankMetrics& metrics);

}  // namespace headroom
