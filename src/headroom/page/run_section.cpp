// SPDX-License-Identifier: Apache-2.0
#include "headroom/page/run_section.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/record/target_verdict.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/interval_json.h"
#include "headroom/report/noise_marks.h"
#include "headroom/report/roofline.h"
#include "headroom/report/roofline_json.h"

namespace headroom {
namespace {

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

Json text_or_null(const std::string& text) {
  return text.empty() ? Json(nullptr) : Json(text);
}

/// What tells cases apart, that their names do not say.
struct Differences {
  bool runners = false, caches = false, threads = false;

  explicit Differences(const std::vector<Record>& records) {
    std::set<std::string> all_runners, all_caches;
    std::set<int> all_threads;
    for (const Record& record : records) {
      all_runners.insert(record.runner);
      all_caches.insert(record.caches);
      all_threads.insert(record.threads);
    }
    runners = all_runners.size() > 1, caches = all_caches.size() > 1, threads = all_threads.size() > 1;
  }
};

std::string name_of_case(const Record& record, const Differences& differ) {
  std::string text = case_text(record);
  if (differ.caches && !record.caches.empty()) text += " " + record.caches;
  if (differ.threads && record.threads > 0) text += fmt::format(" {} threads", record.threads);
  return text;
}

std::string backend_of(const Record& record, const Differences& differ) {
  const bool named = differ.runners && !record.runner.empty() && record.runner != record.model.backend;
  return named ? record.model.backend + " [" + record.runner + "]" : record.model.backend;
}

const char* outcome_of(const Record& record) {
  if (record.kept_wrong) return "wrong";
  if (record.outcome.kind == Outcome::Kind::kMeasured) return "measured";
  return record.outcome.kind == Outcome::Kind::kSkipped ? "skipped" : "failed";
}

Json verdict_of(const Record& record) {
  switch (target_verdict(record)) {
    case TargetVerdict::kReached:
      return "ok";
    case TargetVerdict::kMissed:
      return "missed";
    case TargetVerdict::kUnclear:
      return "unclear";
    case TargetVerdict::kNone:
      break;
  }
  return nullptr;
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
  if (record.metric.target) columns.set("target", *record.metric.target);
  if (record.metric.target_share) columns.set("target_share", *record.metric.target_share);
  columns.set("verdict", verdict_of(record));
  columns.set("marks", text_or_null(noise_marks(timed)));
  set_ratio(columns, timed);
}

Json cases_json(const std::vector<Record>& records, const std::vector<CaseRow>& rows) {
  const Differences differ(records);
  Columns columns;
  for (const CaseRow& row : rows) {
    const Record& record = row.any();
    columns.set("case", name_of_case(record, differ));
    columns.set("backend", text_or_null(backend_of(record, differ)));
    columns.set("dtype", text_or_null(record.benchmark.dtype));
    columns.set("outcome", outcome_of(record));
    columns.set("reason", text_or_null(record.outcome.reason));
    if (record.outcome.kind == Outcome::Kind::kMeasured || record.kept_wrong) set_measurement(columns, row);
    columns.next();
  }
  return std::move(columns).json();
}

Json run_json(const std::vector<Record>& records) {
  std::set<std::string> machines;
  const Environment* first = nullptr;
  for (const Record& record : records) {
    if (!record.environment) continue;
    if (first == nullptr) first = record.environment.get();
    machines.insert(record.environment->fingerprint);
  }
  if (first == nullptr) return {{"machines", 0}};
  const std::string processor = first->machines.empty() ? "" : first->machines.front().cpu_info;
  return {{"when", first->timestamp > 0 ? Json(first->timestamp) : Json(nullptr)},
          {"machine", first->fingerprint},
          {"processor", processor},
          {"command", join(first->command, " ")},
          {"revision", first->git_sha},
          {"version", first->headroom_version},
          {"machines", machines.size()}};
}

Json marks_json(const std::vector<CaseRow>& rows) {
  std::string marks;
  for (const CaseRow& row : rows) marks += noise_marks(row.latency != nullptr ? *row.latency : row.any());
  Json lines = Json::array();
  for (const std::string& line : split(marks_legend(marks), '\n')) {
    if (!trimmed(line).empty()) lines.push_back(trimmed(line));
  }
  return lines;
}

}  // namespace

PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers) {
  const std::vector<CaseRow> rows = case_rows(records);
  const Roofline roofline = roofline_of(records);
  Json data{{"answers", answers},
            {"run", run_json(records)},
            {"count", rows.size()},
            {"cases", cases_json(records, rows)},
            {"marks", marks_json(rows)},
            {"roofline", roofline.cases.empty() ? Json(nullptr) : roofline_json(roofline)}};
  return {"run", std::move(title), std::move(data)};
}

}  // namespace headroom
