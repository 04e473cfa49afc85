// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_selection.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

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

/// Leaves of each case the metric that stands for it.
void keep_shown_metrics(std::vector<Record>& records) {
  std::vector<std::string> keys;
  std::unordered_map<std::string_view, std::pair<int, std::string>> best;
  keys.reserve(records.size());
  best.reserve(records.size());
  for (Record& record : records) {
    const int rank = rank_of(record);
    const std::string& key = keys.emplace_back(case_key(record));
    const auto [entry, is_new] = best.try_emplace(key, rank, record.metric.name);
    if (!is_new && rank > entry->second.first) entry->second = {rank, record.metric.name};
  }
  std::size_t i = 0;
  std::erase_if(records,
                [&](const Record& record) { return best.at(keys[i++]).second != record.metric.name; });
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
    keep_shown_metrics(records);
  }
  return records;
}

}  // namespace headroom::cli
