// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_selection.h"

#include <algorithm>
#include <unordered_map>

#include "cli/commands/diff_name_pattern.h"
#include "headroom/record/seed_rows.h"

namespace headroom::cli {
namespace {

/// What the metrics of one case have in common.
std::string case_key(Record& record) {
  // identity() without its metric, and with the runner.
  std::string metric = std::move(record.metric.name);
  record.metric.name.clear();
  std::string key = identity(record) + record.runner;
  record.metric.name = std::move(metric);
  return key;
}

int rank_of(const Record& record) {
  if (record.metric.name == "latency") return 2;
  return record.metric.headline ? 1 : 0;
}

/// The name of the metric that stands for each case.
std::unordered_map<std::string, std::string> shown_metrics(std::vector<Record>& records) {
  std::unordered_map<std::string, std::pair<int, std::string>> best;
  for (Record& record : records) {
    const int rank = rank_of(record);
    const auto [entry, is_new] = best.try_emplace(case_key(record), rank, record.metric.name);
    if (!is_new && rank > entry->second.first) entry->second = {rank, record.metric.name};
  }
  std::unordered_map<std::string, std::string> shown;
  for (auto& [key, choice] : best) shown.emplace(key, std::move(choice.second));
  return shown;
}

}  // namespace

std::vector<Record> selected(std::vector<Record> records, const DiffOptions& options) {
  if (!options.filter.empty()) {
    const NamePattern pattern(options.filter);
    std::erase_if(records, [&](const Record& record) { return !pattern.is_in(case_name(record)); });
  }
  if (!options.metrics.empty()) {
    std::erase_if(records, [&](const Record& record) {
      return std::ranges::find(options.metrics, record.metric.name) == options.metrics.end();
    });
  } else if (!options.all_metrics) {
    const auto shown = shown_metrics(records);
    std::erase_if(records, [&](Record& record) { return shown.at(case_key(record)) != record.metric.name; });
  }
  return records;
}

}  // namespace headroom::cli
