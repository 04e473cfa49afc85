// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/metric_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <unordered_set>

#include "headroom/base/text.h"
#include "headroom/base/wording.h"
#include "headroom/record/metrics.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

std::vector<const Record*> unlisted_records(const std::vector<Record>& records) {
  std::unordered_set<const Record*> shown;
  for (const CaseRow& row : case_rows(records))
    shown.insert({row.latency, row.headline, row.overhead, row.gpu, row.mm_conv});
  std::vector<const Record*> found;
  for (const Record& record : records) {
    const bool measured = record.outcome.kind == Outcome::Kind::kMeasured;
    if (measured && !shown.contains(&record)) found.push_back(&record);
  }
  return found;
}

std::vector<const Record*> chosen(const std::vector<Record>& records, const MetricChoice& choice) {
  if (choice.all) return unlisted_records(records);
  std::vector<const Record*> found;
  for (const Record& record : records) {
    const bool named = std::ranges::any_of(
        choice.names, [&](const std::string& name) { return is_same_metric(name, record.metric.name); });
    if (named && record.outcome.kind == Outcome::Kind::kMeasured) found.push_back(&record);
  }
  return found;
}

}  // namespace

Table metric_table(const std::vector<Record>& records, const MetricChoice& choice) {
  Table table({{"case"},
               {"backend", Align::kLeft, ""},
               {"dtype", Align::kLeft, ""},
               {"metric"},
               {"value", Align::kRight},
               {"± 95 %", Align::kRight},
               {"n", Align::kRight, "samples"}},
              4);
  const CaseDifferences differ(records);
  for (const Record* record : chosen(records, choice)) {
    table.row({differ.case_text(*record), differ.backend_text(*record), record->benchmark.dtype,
               record->metric.name,
               value_text(record->metric.value, record->metric.unit, record->metric.name),
               spread_text(*record), std::to_string(sample_count(*record))});
  }
  return table;
}

std::string unshown_metrics_text(const std::vector<Record>& records) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  std::set<std::string> known;
  std::size_t count = 0;
  for (const Record* record : unlisted_records(records)) {
    if (record->instrument != Instrument::kImport) continue;
    ++count;
    if (known.insert(record->metric.name).second && known.size() <= kNamed)
      names.push_back(record->metric.name);
  }
  if (count == 0) return "";
  if (known.size() > kNamed) names.push_back("...");
  return fmt::format("  {}: {}; --all-metrics shows {}\n", counted(count, "more result"), join(names, ", "),
                     count == 1 ? "it" : "them");
}

}  // namespace headroom
