// SPDX-License-Identifier: Apache-2.0
#include "headroom/page/case_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "headroom/page/sample_summary.h"
#include "headroom/record/target_verdict.h"
#include "headroom/report/interval_json.h"
#include "headroom/report/noise_marks.h"

namespace headroom {
namespace {

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

const char* outcome_of(const Record& record) {
  if (record.kept_wrong) return "wrong";
  if (record.outcome.kind == Outcome::Kind::kMeasured) return "measured";
  return record.outcome.kind == Outcome::Kind::kSkipped ? "skipped" : "failed";
}

Json verdict_of(const Record& record) {
  const TargetVerdict verdict = target_verdict(record);
  return verdict == TargetVerdict::kNone ? Json(nullptr) : Json(name_of(verdict));
}

void set_ratio(Columns& columns, const Record& timed) {
  if (!timed.ratio) return;
  columns.set("ratio", timed.ratio->ratio);
  columns.set("ratio_low", low_of(timed.ratio->interval));
  columns.set("ratio_high", high_of(timed.ratio->interval));
  columns.set("ratio_to", timed.ratio->other);
}

void set_metric(Columns& columns, const Record& record) {
  columns.set("metric", record.metric.name);
  columns.set("unit", record.metric.unit);
  columns.set("value", record.metric.value);
  columns.set("low", low_of(record.interval));
  columns.set("high", high_of(record.interval));
}

void set_limit(Columns& columns, const Record& record) {
  if (!record.limit) return;
  columns.set("limit", limit_name(*record.limit));
  columns.set("share", record.limit->fraction);
  columns.set("share_low", low_of(record.limit->interval));
  columns.set("share_high", high_of(record.limit->interval));
}

/// The target as a line among the samples of `timed`, where it can be one.
Json target_on_scale_of(const Record& timed, const Record& headline) {
  const Record::Metric& metric = headline.metric;
  if (metric.target_share && timed.limit && *metric.target_share > 0) {
    const bool is_lower = timed.metric.direction == Direction::kLowerIsBetter;
    return is_lower ? timed.limit->value / *metric.target_share : timed.limit->value * *metric.target_share;
  }
  if (!metric.target || !(*metric.target > 0)) return nullptr;
  if (&timed == &headline) return *metric.target;
  // A rate is something over the time.
  const bool is_rate = metric.direction == Direction::kHigherIsBetter;
  return is_rate ? Json(timed.metric.value * metric.value / *metric.target) : Json(nullptr);
}

void set_modes(Columns& columns, const Record& timed) {
  if (timed.modes.groups.empty()) return;
  Json modes = Json::array();
  for (const Mode& mode : timed.modes.groups)
    modes.push_back(Json::array({Json(mode.median), Json(mode.share)}));
  columns.set("modes", std::move(modes));
}

void set_measurement(Columns& columns, const CaseRow& row) {
  const Record& record = row.any();
  // Without a latency the number of samples is that of the headline.
  const Record& timed = row.latency != nullptr ? *row.latency : record;
  if (row.latency != nullptr) {
    columns.set("time", timed.metric.value);
    columns.set("time_low", low_of(timed.interval));
    columns.set("time_high", high_of(timed.interval));
    columns.set("time_unit", timed.metric.unit);
  }
  columns.set("n", sample_count(timed));
  if (&record != row.latency) set_metric(columns, record);
  set_limit(columns, record);
  if (timed.limit) columns.set("limit_at", timed.limit->value);
  if (record.metric.target) columns.set("target", *record.metric.target);
  if (record.metric.target_share) columns.set("target_share", *record.metric.target_share);
  columns.set("target_at", target_on_scale_of(timed, record));
  columns.set("verdict", verdict_of(record));
  columns.set("marks", text_or_null(noise_marks(timed)));
  set_ratio(columns, timed);
  set_modes(columns, timed);
}

/// What else the record tells of its case.
std::vector<std::string> about(const Record& record) {
  std::vector<std::string> lines;
  for (const auto& [key, value] : record.model.extra_info) lines.push_back(key + ": " + value);
  if (record.verified && record.error_bound > 0)
    lines.push_back(fmt::format("answer: verified, error {:.2g} of {:.2g} allowed", record.max_error,
                                record.error_bound));
  if (!record.caches.empty()) lines.push_back("caches: " + record.caches);
  if (record.threads > 0) lines.push_back(fmt::format("threads: {}", record.threads));
  return lines;
}

Json numbers_of(const std::vector<std::string>& lines, TextIndex& texts) {
  if (lines.empty()) return nullptr;
  Json numbers = Json::array();
  for (const std::string& line : lines) numbers.push_back(texts.of(line));
  return numbers;
}

Json place_of(const std::vector<const Environment*>& environments, const Record& record) {
  if (environments.size() < 2) return nullptr;
  const auto found = std::ranges::find(environments, record.environment.get());
  return found == environments.end() ? Json(nullptr) : Json(found - environments.begin());
}

}  // namespace

Json case_columns(const std::vector<Record>& records, const std::vector<CaseRow>& rows,
                  const std::vector<const Environment*>& environments, TextIndex& texts) {
  const CaseDifferences differ(records);
  const std::size_t numbers = numbers_that_fit(rows.size());
  Columns columns;
  for (const CaseRow& row : rows) {
    const Record& record = row.any();
    columns.set("case", differ.case_text(record));
    columns.set("backend", text_or_null(differ.backend_text(record)));
    columns.set("dtype", text_or_null(record.benchmark.dtype));
    columns.set("outcome", outcome_of(record));
    columns.set("reason", text_or_null(record.outcome.reason));
    if (record.outcome.kind == Outcome::Kind::kMeasured || record.kept_wrong) set_measurement(columns, row);
    const Record& timed = row.latency != nullptr ? *row.latency : record;
    columns.set("samples", sample_summary(timed, numbers));
    columns.set("notes", numbers_of(timed.notes, texts));
    columns.set("about", numbers_of(about(timed), texts));
    columns.set("environment", place_of(environments, record));
    columns.next();
  }
  return std::move(columns).json();
}

}  // namespace headroom
