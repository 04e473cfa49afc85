// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/measured_case.h"

#include <fmt/format.h>

#include "headroom/base/units.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

bool is_same_case(const Record& one, const Record& other) {
  return one.benchmark.name == other.benchmark.name && one.model.name == other.model.name &&
         one.model.backend == other.model.backend && one.axes == other.axes && one.runner == other.runner;
}

std::string median_of_rank(const Record* record, std::size_t rank) {
  if (record == nullptr || rank >= record->samples.size()) return "";
  return signed_time(process_medians(*record)[rank] * (record->metric.unit == "s" ? kNsPerSecond : kNsPerUs));
}

}  // namespace

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

void answer_unmeasured(Sheet& sheet, const std::vector<MeasuredCase>& cases,
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
  sheet.answer(fmt::format("{} of {} case{} {}: {}: {}", failed > 0 ? failed : skipped, cases.size(),
                           cases.size() == 1 ? "" : "s", failed > 0 ? "failed" : "skipped", name(first),
                           first.outcome.reason),
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
