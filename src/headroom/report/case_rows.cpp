// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/case_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "headroom/base/json.h"
#include "headroom/record/gpu_shares.h"
#include "headroom/record/overhead_metrics.h"
#include "headroom/record/seed_rows.h"

namespace headroom {
namespace {

/// What two rows of the same case have in common.
std::string case_key(const Record& record) {
  return dump_json(
      Json::array({case_name(record), record.benchmark.dtype, record.device, record.caches, record.threads}));
}

void add(CaseRow& row, const Record& record) {
  if (record.metric.name == kGpuUtilization) return void(row.gpu = &record);
  if (record.metric.name == kMmConvUtilization) return void(row.mm_conv = &record);
  if (is_overhead(record.metric.name)) return void(row.overhead = &record);
  if (record.metric.name == "latency" && row.latency == nullptr) row.latency = &record;
  const bool keep = row.headline != nullptr && row.headline->metric.headline;
  if (!keep) row.headline = &record;
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
  std::string text = record.model.name;
  for (const auto& [axis, value] : record.axes) {
    if (axis != "dtype") text += " " + axis + "=" + value.text();
  }
  return text;
}

CaseDifferences::CaseDifferences(const std::vector<Record>& records) {
  std::set<std::string> all_runners, all_caches;
  std::set<int> all_threads;
  for (const Record& record : records) {
    all_runners.insert(record.runner);
    all_caches.insert(record.caches);
    all_threads.insert(record.threads);
  }
  runners = all_runners.size() > 1, caches = all_caches.size() > 1, threads = all_threads.size() > 1;
}

std::string CaseDifferences::case_text(const Record& record) const {
  std::string text = headroom::case_text(record);
  if (caches && !record.caches.empty()) text += " " + record.caches;
  if (threads && record.threads > 0) text += fmt::format(" {} threads", record.threads);
  return text;
}

std::string CaseDifferences::backend_text(const Record& record) const {
  // A backend and its runner often have the same name: native.
  const bool named = runners && !record.runner.empty() && record.runner != record.model.backend;
  return named ? record.model.backend + " [" + record.runner + "]" : record.model.backend;
}

}  // namespace headroom
