// SPDX-License-Identifier: Apache-2.0
#include "headroom/schedule/counted_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "headroom/machine/last_level_cache.h"
#include "headroom/record/counted_metrics.h"

namespace headroom {
namespace {

struct Quantity {
  const char* name;
  const char* unit;
  std::function<std::optional<double>(const WorkCounts&)> of;
};

std::vector<Quantity> quantities() {
  return {
      {kInstructions, "1", [](const WorkCounts& counts) { return counts.instructions; }},
      {kCycles, "1", [](const WorkCounts& counts) { return counts.cycles; }},
      {kCacheMisses, "1", [](const WorkCounts& counts) { return counts.cache_misses; }},
      {kMissVolume, "B",
       [line = static_cast<double>(cache_line_bytes())](const WorkCounts& counts) -> std::optional<double> {
         if (!counts.cache_misses) return std::nullopt;
         return *counts.cache_misses * line;
       }},
      {kDataVolume, "B", [](const WorkCounts& counts) { return counts.memory_bytes; }},
      {kDataWritten, "B", [](const WorkCounts& counts) { return counts.memory_bytes_written; }},
      {kBackground, "B",
       [](const WorkCounts& counts) -> std::optional<double> {
         if (!counts.memory_bytes) return std::nullopt;
         return counts.background_bytes;
       }},
  };
}

/// By process; those without a value are left out.
std::vector<ProcessSamples> samples_of(const Track& track, const Quantity& quantity) {
  std::vector<ProcessSamples> processes;
  std::optional<std::uint32_t> epoch;
  for (const CountedPass& pass : track.counted) {
    const auto value = quantity.of(pass.counts);
    if (!value) continue;
    if (epoch != pass.epoch) {
      epoch = pass.epoch;
      ProcessSamples& process = processes.emplace_back();
      process.pid = pass.epoch < track.pids.size() ? track.pids[pass.epoch] : 0;
      process.iterations = track.iterations;
    }
    processes.back().values.push_back(*value);
  }
  return processes;
}

}  // namespace

void append_counted(const Track& track, const Record& base, std::vector<Record>& records) {
  if (track.counted.empty()) return;
  const double share = std::ranges::min(track.counted, {}, [](const CountedPass& pass) {
                         return pass.counts.share;
                       }).counts.share;
  for (const Quantity& quantity : quantities()) {
    Record record = base;
    record.samples = samples_of(track, quantity);
    if (record.samples.empty()) continue;
    record.metric.name = quantity.name;
    record.metric.unit = quantity.unit;
    if (share < 1) record.metric.extra_info[kCountedShare] = fmt::format("{:.3f}", share);
    estimate(record);
    records.push_back(std::move(record));
  }
}

}  // namespace headroom
