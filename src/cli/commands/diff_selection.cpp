// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/diff_selection.h"

#include <algorithm>
#include <functional>
#include <string>
#include <unordered_map>

#include "cli/commands/diff_name_pattern.h"
#include "headroom/record/identity.h"
#include "headroom/record/operation_rate.h"

namespace headroom::cli {
namespace {

int rank_of(const Record& record) {
  if (record.metric.name == "latency") return 2;
  return record.metric.headline ? 1 : 0;
}

/// Leaves of each case, measured by one runner, the metric that stands for it.
void keep_shown_metrics(std::vector<Record>& records) {
  const auto hash = [](const Record* record) {
    return case_hash(*record) ^ std::hash<std::string>()(record->runner);
  };
  const auto same = [](const Record* a, const Record* b) {
    return a->runner == b->runner && same_case(*a, *b);
  };
  std::unordered_map<const Record*, const Record*, decltype(hash), decltype(same)> best;
  std::vector<const Record* const*> shown;  // of each, that of its case
  best.reserve(records.size());
  shown.reserve(records.size());
  for (const Record& record : records) {
    const Record*& found = best.try_emplace(&record, &record).first->second;
    if (rank_of(record) > rank_of(*found)) found = &record;
    shown.push_back(&found);
  }
  if (best.size() == records.size()) return;
  std::vector<bool> stays;
  for (std::size_t i = 0; i < records.size(); ++i)
    stays.push_back((*shown[i])->metric.name == records[i].metric.name);
  std::size_t i = 0;
  std::erase_if(records, [&](const Record&) { return !stays[i++]; });
}

}  // namespace

std::vector<Record> selected(std::vector<Record> records, const DiffOptions& options) {
  if (!options.filter.empty()) {
    const NamePattern pattern(options.filter);
    std::erase_if(records, [&](const Record& record) { return !pattern.is_in(case_name(record)); });
  }
  if (!options.metrics.empty()) {
    std::erase_if(records, [&](const Record& record) {
      return std::ranges::none_of(options.metrics, [&](const std::string& metric) {
        return is_same_metric(metric, record.metric.name);
      });
    });
  } else if (!options.all_metrics) {
    keep_shown_metrics(records);
  }
  return records;
}

}  // namespace headroom::cli
