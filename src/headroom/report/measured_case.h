// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/sheet.h"
#include "headroom/record/record.h"

namespace headroom {

/// The records of one case: the first, and by metric those that were measured.
struct MeasuredCase {
  const Record* first = nullptr;
  std::map<std::string, const Record*> metrics{};

  /// nullptr where the case was not measured, or has no such metric.
  const Record* find(const std::string& metric) const;
};

/// Records that follow each other and are of the same model, axes, backend and runner make a case.
std::vector<MeasuredCase> measured_cases(const std::vector<Record>& records);

/// "FAILED: add: reason", a line for each case that was not measured. `name` of its first record.
std::string text_of_unmeasured(const std::vector<MeasuredCase>& cases,
                               const std::function<std::string(const Record&)>& name);

/// Where cases failed, or all were skipped: how many, and why the first, as a sentence of the answer. `name`
/// of its first record.
void answer_unmeasured(Sheet& sheet, const std::vector<MeasuredCase>& cases,
                       const std::function<std::string(const Record&)>& name);

/// What a table of ranks says of a case beside its name: title and text.
using CaseKeys = std::vector<std::pair<std::string, std::function<std::string(const Record&)>>>;
/// Titles of columns and their metrics.
using RankMetrics = std::vector<std::pair<std::string, std::string>>;

/// A row for each rank of each case that has the first of `metrics`, a record of a time with the samples of
/// each rank: the median of each metric in that rank, and how many samples of the first it is of. `records`:
/// all of the run, for the names.
Table rank_table(const std::vector<MeasuredCase>& cases, const std::vector<Record>& records,
                 const std::string& title, const CaseKeys& keys, const RankMetrics& metrics);

}  // namespace headroom
