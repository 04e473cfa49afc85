// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/json.h"
#include "headroom/record/record.h"
#include "headroom/report/case_rows.h"

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

/// {COLUMN: [one of each row]}, what a page says of cases:
///
/// "case", "backend", "dtype", "outcome" ("measured", "skipped", "failed", "wrong"), "reason"; "time",
/// "time_low", "time_high" in "time_unit", "n" samples; "metric", "value", "low", "high" in "unit", where the
/// case is about another one than its time; "limit" (its name), "share" of it, "share_low", "share_high";
/// "target" in "unit" and "target_share", "verdict" ("ok", "missed", "inconclusive"); "marks"; "ratio",
/// "ratio_low", "ratio_high" to "ratio_to"; "samples" of the time, or of the metric without one
/// (sample_summary()), "limit_at" and "target_at" in their unit, "modes" of them ([[median, share]...]);
/// "notes" and "about": numbers of `texts`; "environment": which of `environments`, where there are several.
/// What there is not is null; a column that is null in all rows is left out.
Json case_columns(const std::vector<Record>& records, const std::vector<CaseRow>& rows,
                  const std::vector<const Environment*>& environments, TextIndex& texts);

/// [[name, value]...], all that an environment tells of a machine and a program: "processor", "memory",
/// "governor", "hwloc version". What is empty is left out.
Json environment_facts(const Environment& environment);

/// Those of the records, in the order in which they come, each once.
std::vector<const Environment*> environments_of(const std::vector<Record>& records);

/// {"when": seconds since 1970 or null, "machine", "processor", "command", "revision", "version": texts of
/// the first environment, empty where it does not say, "machines": how many}.
Json run_json(const std::vector<Record>& records);

/// The samples of a record as a chart takes them (assets/charts/samples.js), in at most about `most` numbers
/// however many there are, each to seven digits:
///
///     {"n": samples, "warmup": of these, "each": how many neighbours a mark stands for,
///      "processes": [{"pid", "warmup": marks, "round": the first, "rounds": [...] or absent,
///                     "values": [...],
///                     "warmup_samples", "low", "quarter", "upper", "high": [...] where "each" is not 1,
///                     "disturbed": [[mark, "stolen", "preempted" or "throttled"]...] or absent}],
///      "histogram": {"from", "to", "below": samples, "above": samples, "counts": [...]} or absent}
///
/// Where "each" is more than 1, "values" are medians of neighbours, and the least, the quartiles and the
/// largest stand beside. "rounds" is absent where they count up by one. "below" and "above" have values that
/// are not finite, too. null for a record without samples.
Json sample_summary(const Record& record, std::size_t most);

/// How many numbers each of so many records may have in a page.
std::size_t numbers_that_fit(std::size_t records);

}  // namespace headroom
