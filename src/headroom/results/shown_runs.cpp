// SPDX-License-Identifier: Apache-2.0
#include "headroom/results/shown_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/compare/match.h"
#include "headroom/results/shown_records.h"
#include "headroom/stats/quantile.h"

namespace headroom::cli {
namespace {

constexpr auto hash_of_result = [](const Record* record) {
  return identity_hash(*record) ^ std::hash<std::string>()(record->runner);
};
constexpr auto is_same_result = [](const Record* a, const Record* b) {
  return a->runner == b->runner && same_identity(*a, *b);
};
using Occurrences =
    std::unordered_map<const Record*, std::size_t, decltype(hash_of_result), decltype(is_same_result)>;

bool has_equal_results(const std::vector<Record>& records) {
  Occurrences seen;
  return std::ranges::any_of(records, [&](const Record& record) { return seen[&record]++ > 0; });
}

/// Splits by environment, then by repetition.
std::vector<ShownRun> runs_of_file(FileResults file) {
  std::vector<ShownRun> runs;
  if (!has_equal_results(file.records)) {
    runs.push_back({file.path.string(), std::move(file.records)});
    return runs;
  }
  std::map<const Environment*, Occurrences> seen;
  std::vector<std::size_t> run_of;
  std::map<std::pair<const Environment*, std::size_t>, std::size_t> places;
  for (const Record& record : file.records) {
    const Environment* environment = record.environment.get();
    const std::size_t occurrence = seen[environment][&record]++;
    run_of.push_back(places.try_emplace({environment, occurrence}, places.size()).first->second);
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    runs.push_back({fmt::format("{}, run {}", file.path.string(), i + 1)});
  for (std::size_t i = 0; i < run_of.size(); ++i)
    runs[run_of[i]].records.push_back(std::move(file.records[i]));
  return runs;
}

/// Drops properties of single runs.
void clear_run_properties(Record& record) {
  if (record.runs.size() < 2) return;
  record.ratio.reset();
  record.modes = {};
  std::vector<double> fractions;
  for (const RunValue& run : record.runs) {
    if (run.fraction > 0) fractions.push_back(run.fraction);
  }
  if (!record.limit || fractions.empty()) return;
  record.limit->fraction = median(fractions);
  record.limit->interval.reset();
  record.limit->rounds.reset();
}

std::optional<ShownRun> joined_run(const std::vector<ShownRun>& runs) {
  std::vector<Record> all;
  for (const ShownRun& run : runs) std::ranges::copy(run.records, std::back_inserter(all));
  try {
    JoinedRecords joined = join_duplicates(std::move(all));
    std::ranges::for_each(joined.records, clear_run_properties);
    return ShownRun{"", std::move(joined.records), join(joined.notes, "; ")};
  } catch (const Error&) {
    return std::nullopt;  // inconvertible units
  }
}

}  // namespace

std::vector<ShownRun> runs_to_show(std::vector<FileResults> files) {
  constexpr std::size_t kShownOneByOne = 4;
  std::vector<ShownRun> runs;
  for (FileResults& file : files) std::ranges::move(runs_of_file(std::move(file)), std::back_inserter(runs));
  if (runs.size() > 1) {
    Occurrences seen;
    const bool shared = std::ranges::any_of(runs, [&](const ShownRun& run) {
      return std::ranges::any_of(run.records, [&](const Record& record) { return seen[&record]++ > 0; });
    });
    if (!shared) {
      for (std::size_t i = 1; i < runs.size(); ++i)
        std::ranges::move(runs[i].records, std::back_inserter(runs.front().records));
      runs.resize(1);
    }
  }
  if (runs.size() == 1) runs.front().title.clear();
  const bool of_cases =
      std::ranges::all_of(runs, [](const ShownRun& run) { return shows_cases(run.records); });
  if (runs.size() <= kShownOneByOne || !of_cases) return runs;
  std::optional<ShownRun> joined = joined_run(runs);
  if (!joined) return runs;
  runs.assign(1, std::move(*joined));
  return runs;
}

}  // namespace headroom::cli
