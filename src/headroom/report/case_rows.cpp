// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/case_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/metrics.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

std::string case_key(const Record& record) {
  return dump_json(Json::array({record.benchmark.name, record.benchmark.mode, case_name(record),
                                record.benchmark.dtype, record.device, record.caches, record.threads}));
}

void add(CaseRow& row, const Record& record) {
  if (record.metric.name == kGpuUtilization) return void(row.gpu = &record);
  if (record.metric.name == kMmConvUtilization) return void(row.mm_conv = &record);
  if (is_overhead(record.metric.name)) return void(row.overhead = &record);
  if (record.metric.name == "latency" && row.latency == nullptr) row.latency = &record;
  const bool keep = row.headline != nullptr && row.headline->metric.headline;
  if (!keep) row.headline = &record;
}

std::string short_name(const Record& record, bool with_dtype) {
  constexpr std::size_t kMaxNameLength = 400, kMaxValueLength = 100;
  std::string text = abridged(record.model.name, kMaxNameLength);
  for (const auto& [axis, value] : record.axes) {
    if (with_dtype || axis != "dtype") text += " " + axis + "=" + abridged(value.text(), kMaxValueLength);
  }
  return text;
}

bool is_same_case(const Record& one, const Record& other) {
  return one.benchmark.name == other.benchmark.name && one.model.name == other.model.name &&
         one.model.backend == other.model.backend && one.axes == other.axes && one.runner == other.runner;
}

std::string median_of_rank(const Record* record, std::size_t rank) {
  if (record == nullptr || rank >= record->samples.size()) return "";
  return signed_time(process_medians(*record)[rank] * (record->metric.unit == "s" ? kNsPerSecond : kNsPerUs));
}

}  // namespace

std::string row_key(const Record& record) {
  return dump_json(Json::array({case_key(record), record.model.backend, record.runner}));
}

std::vector<CaseRow> case_rows(const std::vector<Record>& records) {
  std::map<std::string, std::size_t> case_places, row_places;
  std::vector<std::vector<CaseRow>> cases;
  for (const Record& record : records) {
    const std::size_t place = case_places.try_emplace(case_key(record), cases.size()).first->second;
    if (place == cases.size()) cases.emplace_back();
    std::vector<CaseRow>& rows = cases[place];
    const std::size_t at = row_places.try_emplace(row_key(record), rows.size()).first->second;
    if (at == rows.size()) rows.emplace_back();
    add(rows[at], record);
  }
  std::vector<CaseRow> all;
  for (const std::vector<CaseRow>& rows : cases) all.insert(all.end(), rows.begin(), rows.end());
  return all;
}

std::string case_text(const Record& record) {
  return short_name(record, false);
}

std::string shown_case_name(const Record& record) {
  return short_name(record, true);
}

CaseDifferences::CaseDifferences(const std::vector<Record>& records) {
  std::set<std::string> all_runners, all_caches, all_modes;
  std::set<int> all_threads;
  for (const Record& record : records) {
    all_runners.insert(record.runner);
    all_caches.insert(record.caches);
    all_modes.insert(record.benchmark.mode);
    all_threads.insert(record.threads);
  }
  runners = all_runners.size() > 1, caches = all_caches.size() > 1, threads = all_threads.size() > 1;
  modes = all_modes.size() > 1;
}

std::string CaseDifferences::case_text(const Record& record) const {
  std::string text = headroom::case_text(record);
  if (modes && !record.benchmark.mode.empty()) text += " " + record.benchmark.mode;
  if (caches && !record.caches.empty()) text += " " + record.caches;
  if (threads && record.threads > 0) text += fmt::format(" {} threads", record.threads);
  return text;
}

std::string CaseDifferences::backend_text(const Record& record) const {
  const bool named = runners && !record.runner.empty() && record.runner != record.model.backend;
  return named ? record.model.backend + " [" + record.runner + "]" : record.model.backend;
}

const Record* MeasuredCase::find(const std::string& metric) const {
  const auto found = metrics.find(metric);
  return found == metrics.end() ? nullptr : found->second;
}

std::vector<MeasuredCase> measured_cases(const std::vector<Record>& records) {
  std::vector<MeasuredCase> cases;
  for (const Record& record : records) {
    if (cases.empty() || !is_same_case(*cases.back().first, record)) cases.push_back({&record});
    if (record.outcome.kind == Outcome::Kind::kMeasured) cases.back().metrics[record.metric.name] = &record;
  }
  return cases;
}

std::string text_of_unmeasured(const std::vector<MeasuredCase>& cases,
                               const std::function<std::string(const Record&)>& name) {
  std::string text;
  for (const MeasuredCase& one : cases) {
    const Outcome& outcome = one.first->outcome;
    if (outcome.kind == Outcome::Kind::kMeasured) continue;
    text += fmt::format("{}: {}: {}\n", outcome.kind == Outcome::Kind::kFailed ? "FAILED" : "skipped",
                        name(*one.first), outcome.reason);
  }
  return text;
}

void answer_unmeasured(View& view, const std::vector<MeasuredCase>& cases,
                       const std::function<std::string(const Record&)>& name) {
  std::size_t failed = 0, skipped = 0;
  const Record *first_failed = nullptr, *first_skipped = nullptr;
  for (const MeasuredCase& one : cases) {
    const Outcome::Kind kind = one.first->outcome.kind;
    if (kind == Outcome::Kind::kFailed && failed++ == 0) first_failed = one.first;
    if (kind == Outcome::Kind::kSkipped && skipped++ == 0) first_skipped = one.first;
  }
  const bool all_skipped = skipped == cases.size() && skipped > 0;
  if (failed == 0 && !all_skipped) return;
  const Record& first = failed > 0 ? *first_failed : *first_skipped;
  view.answer(fmt::format("{} of {} {}: {}: {}", failed > 0 ? failed : skipped, counted(cases.size(), "case"),
                          failed > 0 ? "failed" : "skipped", name(first), first.outcome.reason),
              Tone::kBad);
}

Table rank_table(const std::vector<MeasuredCase>& cases, const std::vector<Record>& records,
                 const std::string& title, const CaseKeys& keys, const RankMetrics& metrics) {
  std::vector<Table::Column> columns{{title}};
  for (const auto& [key, text] : keys) columns.push_back({key, Align::kRight});
  columns.push_back({"rank", Align::kRight});
  for (const auto& [name, metric] : metrics) columns.push_back({name, Align::kRight});
  columns.push_back({"samples", Align::kRight, "samples"});
  Table table(std::move(columns), keys.size() + 2);
  for (const MeasuredCase& one : cases) {
    const Record* first = one.find(metrics.front().second);
    if (first == nullptr) continue;
    for (std::size_t rank = 0; rank < first->samples.size(); ++rank) {
      std::vector<std::string> cells{name_with_runner(*first, records)};
      for (const auto& [key, text] : keys) cells.push_back(text(*first));
      cells.push_back(std::to_string(rank));
      for (const auto& [name, metric] : metrics) cells.push_back(median_of_rank(one.find(metric), rank));
      cells.push_back(std::to_string(steady(first->samples[rank]).size()));
      table.row(std::move(cells));
    }
  }
  return table;
}

}  // namespace headroom
