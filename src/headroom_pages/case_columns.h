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

/// Rows by column, half the size of named members for 10,000 cases.
class CaseColumns {
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

/// {COLUMN: [one of each row]}: "outcome" is "measured", "skipped", "failed" or "wrong"; "n" counts samples;
/// "value", "low", "high" are in "unit", if the case has a metric besides its time; "share" is relative to
/// "limit" (a name); "target" is in "unit", "verdict" "ok", "missed" or "inconclusive"; "marks" are noise
/// flags; "samples" are of the time or metric (sample_summary()), "limit_at" and "target_at" in their unit;
/// "modes": [[median, share]...]; "notes" and "about" index `texts`, "environment" `environments`, if
/// several. Missing values are null; columns that are null in all rows are omitted.
Json case_columns(const std::vector<Record>& records, const std::vector<CaseRow>& rows,
                  const std::vector<const Environment*>& environments, TextIndex& texts);

/// [[name, value]...]: "processor", "memory", "governor". Omits empty values.
Json environment_facts(const Environment& environment);

std::vector<const Environment*> environments_of(const std::vector<Record>& records);

/// {"when": seconds since 1970 or null, "machine", "processor", "command", "revision", "version": texts of
/// the first environment or empty, "machines": count}.
Json run_json(const std::vector<Record>& records);

/// The samples of a record for a chart (assets/charts/samples.js), in about `most` numbers of seven digits;
/// null without samples:
///
///     {"n": samples, "warmup": of these, "each": samples per mark,
///      "processes": [{"pid", "warmup": marks, "round": the first, "rounds": [...] or absent,
///                     "values": [...],
///                     "warmup_samples", "low", "quarter", "upper", "high": [...] where "each" is not 1,
///                     "disturbed": [[mark, "stolen", "preempted" or "throttled"]...] or absent}],
///      "histogram": {"from", "to", "below": samples, "above": samples, "counts": [...]} or absent}
///
/// If "each" exceeds 1, "values" are medians of consecutive samples; "low" to "high" are their minimum,
/// quartiles and maximum. "rounds" is absent if they count up by one. "above" includes values that are not
/// finite.
Json sample_summary(const Record& record, std::size_t most);

/// A record's share of a page's budget of sample numbers.
std::size_t limited_numbers(std::size_t records);

}  // namespace headroom
