// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/compare/compared_ratio.h"
#include "headroom/compare/comparison.h"
#include "headroom/record/metrics.h"
#include "headroom/stats/interval.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

using Places = std::vector<std::size_t>;

bool measured(const Record& record) {
  return record.outcome.kind == Outcome::Kind::kMeasured;
}

std::string title(const Record& record) {
  return fmt::format("{} ({}, {})", case_name(record), record.model.backend, record.metric.name);
}

void convert(Record& record, const std::string& unit) {
  if (record.metric.unit == unit) return;
  const auto factor = unit_factor(record.metric.unit, unit);
  if (!factor) {
    throw Error(fmt::format("duplicate result {}: units {} and {} cannot be converted; rename one metric",
                            title(record), quote(unit), quote(record.metric.unit)));
  }
  record.metric.unit = unit;
  record.metric.value *= *factor;
  for (ProcessSamples& process : record.samples) {
    for (double& value : process.values) value *= *factor;
  }
}

ProcessSamples single_value(const Record& record) {
  ProcessSamples process;
  process.values = {record.metric.value};
  return process;
}

void recompute_estimate(Record& record) {
  record.interval.reset();
  const Series series = steady(record);
  if (std::ranges::all_of(series.values, [](double value) { return std::isfinite(value); })) estimate(record);
}

Record joined(std::vector<Record>& records, const Places& places, std::vector<std::string>& notes) {
  Places kept;
  std::ranges::copy_if(places, std::back_inserter(kept), [&](std::size_t i) { return measured(records[i]); });
  if (kept.empty() && places.size() == 1) return std::move(records[places.front()]);
  if (kept.empty()) {
    notes.push_back(fmt::format("{}: {} without a result, showing one", title(records[places.front()]),
                                counted(places.size(), "run")));
    return std::move(records[places.front()]);
  }
  if (kept.size() < places.size()) {
    notes.push_back(fmt::format("{}: left out {} without a result", title(records[places.front()]),
                                counted(places.size() - kept.size(), "run")));
  }
  if (kept.size() == 1) return std::move(records[kept.front()]);
  const bool sampled = std::ranges::any_of(kept, [&](std::size_t i) { return !records[i].samples.empty(); });
  if (sampled) {
    const auto lone = std::erase_if(kept, [&](std::size_t i) { return records[i].samples.empty(); });
    if (lone > 0) {
      notes.push_back(fmt::format("{}: left out {} without samples", title(records[places.front()]),
                                  counted(lone, "result")));
    }
  }
  Record first = std::move(records[kept.front()]);
  if (!sampled) first.samples = {single_value(first)};
  std::vector<RunValue> runs = runs_of(first);
  for (std::size_t k = 1; k < kept.size(); ++k) {
    Record& other = records[kept[k]];
    convert(other, first.metric.unit);
    std::ranges::copy(runs_of(other), std::back_inserter(runs));
    if (!sampled) other.samples = {single_value(other)};
    std::ranges::move(other.samples, std::back_inserter(first.samples));
  }
  if (kept.size() > 1) {
    first.runs = std::move(runs);
    // Rounds of different runs are unrelated.
    for (ProcessSamples& process : first.samples) process.rounds.clear();
    recompute_estimate(first);
  }
  return first;
}

constexpr auto kHashOf = [](const Record* record) { return identity_hash(*record); };
constexpr auto kAreSame = [](const Record* a, const Record* b) { return same_identity(*a, *b); };
template <typename T>
using IdentityMap = std::unordered_map<const Record*, T, decltype(kHashOf), decltype(kAreSame)>;

struct Candidates {
  Places in_test;
  bool in_baseline = false;
  bool several = false;
};

struct CandidateIndex {
  IdentityMap<Candidates> all;
  std::vector<const Candidates*> of_baseline;
};

CandidateIndex candidates_of(const std::vector<Record>& baseline, const std::vector<Record>& test) {
  CandidateIndex candidacy;
  candidacy.all.reserve(test.size());
  for (std::size_t i = 0; i < test.size(); ++i) candidacy.all[&test[i]].in_test.push_back(i);
  for (auto& [key, found] : candidacy.all) found.several = found.in_test.size() > 1;
  candidacy.of_baseline.reserve(baseline.size());
  for (const Record& record : baseline) {
    const auto found = candidacy.all.find(&record);
    candidacy.of_baseline.push_back(found == candidacy.all.end() ? nullptr : &found->second);
    if (found == candidacy.all.end()) continue;
    if (std::exchange(found->second.in_baseline, true)) found->second.several = true;
  }
  return candidacy;
}

const Record* partner_of(const Record& record, bool by_runner, const std::vector<Record>& others,
                         const Places& candidates) {
  if (!by_runner) return &others[candidates.front()];
  for (const std::size_t i : candidates) {
    if (others[i].runner == record.runner) return &others[i];
  }
  return nullptr;
}

/// Empty if each case has one record.
std::vector<Places> groups_of(const std::vector<Record>& records) {
  ByResult<std::size_t> known;
  known.reserve(records.size());
  std::vector<std::size_t> group;
  group.reserve(records.size());
  for (const Record& record : records)
    group.push_back(known.try_emplace(&record, known.size()).first->second);
  if (known.size() == records.size()) return {};
  std::vector<Places> groups(known.size());
  for (std::size_t i = 0; i < group.size(); ++i) groups[group[i]].push_back(i);
  return groups;
}

/// Whether another tool wrote the record; its identity is often incomplete.
bool is_imported(const Record& record) {
  return !record.environment || record.environment->headroom_version.empty();
}

bool agree(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || a == b;
}

bool agree(const Record& a, const Record& b) {
  const bool axes = std::ranges::all_of(a.axes, [&](const auto& entry) {
    const AxisValue* other = axis(b, entry.first);
    return other == nullptr || *other == entry.second;
  });
  return axes && a.benchmark.name == b.benchmark.name && a.model.name == b.model.name &&
         is_same_metric(a.metric.name, b.metric.name) && agree(a.benchmark.mode, b.benchmark.mode) &&
         agree(torch_dtype(a.benchmark.dtype), torch_dtype(b.benchmark.dtype)) &&
         agree(a.model.backend, b.model.backend) && agree(a.device, b.device) && agree(a.caches, b.caches) &&
         (a.threads == 0 || b.threads == 0 || a.threads == b.threads);
}

bool has_settings(const Record& record, const Record& other) {
  return std::ranges::all_of(record.axes, [&](const auto& entry) {
    const auto& [name, value] = entry;
    if (const AxisValue* own = axis(other, name)) return *own == value;
    if (!other.environment) return false;
    const auto shared = other.environment->extra_info.find(name);
    return shared == other.environment->extra_info.end() ? is_neutral_setting(value)
                                                         : shared->second == value.text();
  });
}

bool may_match(const Record& a, const Record& b) {
  if (!agree(a, b)) return false;
  if (is_imported(a) != is_imported(b)) return true;
  const bool other_tool = is_imported(a) && a.benchmark.name != "headroom" && a.metric.name == b.metric.name;
  return other_tool && has_settings(a, b) && has_settings(b, a);
}

/// Pairs records that match each other and no other.
void match_by_common_fields(const std::vector<Record>& baseline, std::vector<const Record*>& partners,
                            std::vector<const Record*>& left) {
  std::unordered_map<std::string_view, std::vector<const Record*>> by_name;
  for (const Record* record : left) by_name[record->model.name].push_back(record);
  std::map<const Record*, std::vector<std::size_t>> suitors;
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const auto named = by_name.find(baseline[i].model.name);
    if (partners[i] != nullptr || named == by_name.end()) continue;
    std::vector<const Record*> found;
    for (const Record* record : named->second) {
      if (may_match(baseline[i], *record)) found.push_back(record);
    }
    if (found.size() == 1) suitors[found.front()].push_back(i);
  }
  for (const auto& [record, places] : suitors) {
    if (places.size() != 1) continue;
    partners[places.front()] = record;
    std::erase(left, record);
  }
}

}  // namespace

JoinedRecords join_duplicates(std::vector<Record> records) {
  const std::vector<Places> groups = groups_of(records);
  JoinedRecords result{std::move(records), {}};
  // In place, to save memory: a group's first record never precedes the group's index.
  for (std::size_t i = 0; i < groups.size(); ++i)
    result.records[i] = joined(result.records, groups[i], result.notes);
  if (!groups.empty())
    result.records.erase(result.records.begin() + std::ssize(groups), result.records.end());
  std::map<std::size_t, std::size_t> joined_cases;
  for (const Record& record : result.records) {
    if (record.runs.size() > 1) ++joined_cases[record.runs.size()];
  }
  for (const auto& [runs, cases] : joined_cases)
    result.notes.push_back(
        fmt::format("joined {} runs of {}: each median is over all samples", runs, counted(cases, "result")));
  return result;
}

Matches match_records(const std::vector<Record>& baseline, const std::vector<Record>& test) {
  const CandidateIndex candidacy = candidates_of(baseline, test);
  std::vector<const Record*> partners;
  std::vector<bool> taken(test.size());
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    const Candidates* found = candidacy.of_baseline[i];
    const Record* partner =
        found == nullptr ? nullptr : partner_of(baseline[i], found->several, test, found->in_test);
    partners.push_back(partner);
    if (partner != nullptr) taken[static_cast<std::size_t>(partner - test.data())] = true;
  }
  Matches matches;
  for (std::size_t i = 0; i < test.size(); ++i) {
    if (!taken[i]) matches.only_test.push_back(&test[i]);
  }
  match_by_common_fields(baseline, partners, matches.only_test);
  for (std::size_t i = 0; i < baseline.size(); ++i) {
    if (partners[i] == nullptr) {
      matches.only_baseline.push_back(&baseline[i]);
    } else {
      matches.pairs.emplace_back(&baseline[i], partners[i]);
    }
  }
  return matches;
}

}  // namespace headroom
