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
  std::unordered_map<std::string_view, std::size_t> best;
  keys.reserve(records.size());
  best.reserve(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto [entry, is_new] = best.try_emplace(keys.emplace_back(case_key(records[i])), i);
    if (!is_new && rank_of(records[i]) > rank_of(records[entry->second])) entry->second = i;
  }
  std::vector<bool> is_shown;
  for (std::size_t i = 0; i < records.size(); ++i)
    is_shown.push_back(records[best.at(keys[i])].metric.name == records[i].metric.name);
  std::size_t i = 0;
  std::erase_if(records, [&](const Record&) { return !is_shown[i++]; });
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
