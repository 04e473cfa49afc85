// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/program/live_runs.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/report/interval_json.h"
#include "headroom/results/run_journal.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCases = 200;
constexpr int kShareOfCpu = 20;

std::string case_of(const Record& record) {
  std::string name = case_name(record);
  if (!record.model.backend.empty()) name += " " + record.model.backend;
  return name;
}

/// Of each case the metric that tables show, or all where none is marked so.
std::vector<const Record*> shown_of(const std::vector<Record>& records) {
  std::set<std::string> with_headline;
  for (const Record& record : records) {
    if (record.metric.headline) with_headline.insert(case_of(record));
  }
  std::vector<const Record*> shown;
  for (const Record& record : records) {
    if (record.outcome.kind != Outcome::Kind::kMeasured) continue;
    if (record.metric.headline || !with_headline.contains(case_of(record))) shown.push_back(&record);
  }
  return shown;
}

Json run_json(const UnfinishedRun& run) {
  const std::vector<Record> records = run.records();
  const std::vector<const Record*> shown = shown_of(records);
  // The newest are those at work.
  const std::size_t first = shown.size() - std::min(shown.size(), kCases);
  Json cases = Json::array();
  for (std::size_t i = first; i < shown.size(); ++i) {
    const Record& record = *shown[i];
    cases.push_back({{"case", visible(case_of(record))},
                     {"metric", visible(record.metric.name)},
                     {"unit", visible(record.metric.unit)},
                     {"value", record.metric.value},
                     {"low", low_of(record.interval)},
                     {"high", high_of(record.interval)},
                     {"samples", sample_count(record)}});
  }
  return {{"command", visible(join(run.environment.command, " "))},
          {"time", run.environment.timestamp},
          {"finished", run.finished.size()},
          {"title", visible(run.title)},
          {"cases", std::move(cases)},
          {"left_out", first},
          {"problem", ""}};
}

Json told_of(const fs::path& path) {
  try {
    return run_json(read_run_journal(path));
  } catch (const Error& error) {
    return {{"command", path.filename().string()},
            {"time", 0},
            {"finished", 0},
            {"title", ""},
            {"cases", Json::array()},
            {"left_out", 0},
            {"problem", visible(error.what())}};
  }
}

}  // namespace

Json LiveRuns::now() {
  std::map<fs::path, Seen> seen;
  Json runs = Json::array();
  for (const fs::path& path : journals_of_running()) {
    Seen one;
    if (const auto known = seen_.find(path); known != seen_.end()) one = std::move(known->second);
    std::error_code error;
    const std::uintmax_t size = fs::file_size(path, error);
    const auto start = std::chrono::steady_clock::now();
    if (!error && size != one.size && start >= one.not_before) {
      one.size = size;
      one.told = told_of(path);
      const auto end = std::chrono::steady_clock::now();
      one.not_before = end + kShareOfCpu * (end - start);
    }
    if (!one.told.is_null()) runs.push_back(one.told);
    seen.emplace(path, std::move(one));
  }
  seen_ = std::move(seen);
  return runs;
}

}  // namespace headroom::cli
