// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <unordered_map>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/compare/sample_series.h"
#include "headroom/compare/unit_conversion.h"
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
    throw Error(
        fmt::format("{} is there twice, in {} and in {}, which cannot be converted: rename one metric",
                    title(record), in_quotes(unit), in_quotes(record.metric.unit)));
  }
  record.metric.unit = unit;
  record.metric.value *= *factor;
  for (ProcessSamples& process : record.samples) {
    for (double& value : process.values) value *= *factor;
  }
}

/// A lone number as a process that gave one value.
ProcessSamples lone_value(const Record& record) {
  ProcessSamples process;
  process.values = {record.metric.value};
  return process;
}

void estimate_again(Record& record) {
  const SampleSeries series = sample_series(record);
  record.interval.reset();
  if (series.values.empty() || !std::ranges::all_of(series.values, [](double v) { return std::isfinite(v); }))
    return;
  record.metric.value = median(series.values);
  record.interval = series_median_interval(series.values, series.group_sizes);
}

/// One record of those at `places`.
Record joined(std::vector<Record>& records, const Places& places, std::vector<std::string>& notes) {
  Places kept;
  std::ranges::copy_if(places, std::back_inserter(kept), [&](std::size_t i) { return measured(records[i]); });
  if (kept.empty()) return std::move(records[places.front()]);
  if (kept.size() == 1) return std::move(records[kept.front()]);
  const bool sampled = std::ranges::any_of(kept, [&](std::size_t i) { return !records[i].samples.empty(); });
  if (sampled) {
    const auto lone = std::erase_if(kept, [&](std::size_t i) { return records[i].samples.empty(); });
    if (lone > 0) {
      notes.push_back(fmt::format("{}: {} results without samples are left out beside those that have them",
                                  title(records[places.front()]), lone));
    }
  }
  Record first = std::move(records[kept.front()]);
  if (!sampled) first.samples = {lone_value(first)};
  for (std::size_t k = 1; k < kept.size(); ++k) {
    Record& other = records[kept[k]];
    convert(other, first.metric.unit);
    if (!sampled) other.samples = {lone_value(other)};
    std::ranges::move(other.samples, std::back_inserter(first.samples));
  }
  if (kept.size() > 1) {
    notes.push_back(fmt::format("{}: {} runs of this case are joined", title(first), kept.size()));
    // Rounds of different runs have nothing to do with each other.
    for (ProcessSamples& process : first.samples) process.rounds.clear();
    estimate_again(first);
  }
  return first;
}

std::unordered_map<std::string, Places> places_by_identity(const std::vector<Record>& records) {
  std::unordered_map<std::string, Places> places;
  for (std::size_t i = 0; i < records.size(); ++i) places[identity(records[i])].push_back(i);
  return places;
}

/// The partner among `candidates`, or nullptr.
const Record* partner_of(const Record& record, bool by_runner, const std::vector<Record>& others,
                         const Places& candidates) {
  if (!by_runner) return &others[candidates.front()];
  for (const std::size_t i : candidates) {
    if (others[i].runner == record.runner) return &others[i];
  }
  return nullptr;
}

}  // namespace

JoinedRecords join_duplicates(std::vector<Record> records) {
  std::unordered_map<std::string, std::size_t> groups;
  std::vector<Places> places;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const auto [entry, is_new] = groups.try_emplace(identity(records[i]) + records[i].runner, places.size());
    if (is_new) places.emplace_back();
    places[entry->second].push_back(i);
  }
  JoinedRecords result;
  result.records.reserve(places.size());
  for (const Places& group : places) result.records.push_back(joined(records, group, result.notes));
  return result;
}

Matches match_records(const std::vector<Record>& baseline, const std::vector<Record>& test) {
  const auto in_baseline = places_by_identity(baseline);
  const auto in_test = places_by_identity(test);
  Matches matches;
  std::vector<bool> taken(test.size());
  for (const Record& record : baseline) {
    const std::string key = identity(record);
    const auto candidates = in_test.find(key);
    const Record* partner = nullptr;
    if (candidates != in_test.end()) {
      const bool several = in_baseline.at(key).size() > 1 || candidates->second.size() > 1;
      partner = partner_of(record, several, test, candidates->second);
    }
    if (partner == nullptr) {
      matches.only_baseline.push_back(&record);
      continue;
    }
    taken[static_cast<std::size_t>(partner - test.data())] = true;
    matches.pairs.emplace_back(&record, partner);
  }
  for (std::size_t i = 0; i < test.size(); ++i) {
    if (!taken[i]) matches.only_test.push_back(&test[i]);
  }
  return matches;
}

}  // namespace headroom
