// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/sample_series.h"

#include <algorithm>
#include <unordered_map>

namespace headroom {
namespace {

/// Whether no round occurs twice: then a round alone tells the pair, even where a runner was started again on
/// one side. Otherwise rounds begin anew in each process, and the process is part of it.
bool rounds_are_unique(const Record& record) {
  std::optional<std::uint32_t> last;
  for (const ProcessSamples& process : record.samples) {
    for (const std::uint32_t round : process.rounds) {
      if (last && round <= *last) return false;
      last = round;
    }
  }
  return true;
}

bool has_rounds(const Record& record) {
  return std::ranges::all_of(record.samples, [](const ProcessSamples& process) {
    return process.rounds.size() == process.values.size();
  });
}

}  // namespace

SampleSeries sample_series(const Record& record, double factor) {
  SampleSeries series;
  const bool rounds = has_rounds(record);
  const bool unique = rounds && rounds_are_unique(record);
  for (std::size_t p = 0; p < record.samples.size(); ++p) {
    const ProcessSamples& process = record.samples[p];
    const std::size_t first = std::min(process.warmup, process.values.size());
    for (std::size_t i = first; i < process.values.size(); ++i) {
      series.values.push_back(process.values[i] * factor);
      if (rounds) series.slots.push_back((unique ? 0 : std::uint64_t{p} << 32) | process.rounds[i]);
    }
    if (first < process.values.size()) series.group_sizes.push_back(process.values.size() - first);
  }
  return series;
}

bool same_session(const Record& a, const Record& b) {
  if (!a.environment || !b.environment) return false;
  if (a.environment == b.environment) return true;
  const Environment& left = *a.environment;
  const Environment& right = *b.environment;
  return left.timestamp != 0 && left.timestamp == right.timestamp && !left.fingerprint.empty() &&
         left.fingerprint == right.fingerprint && left.command == right.command;
}

std::optional<PairedSeries> paired_series(const Record& a, const SampleSeries& in_a, const Record& b,
                                          const SampleSeries& in_b) {
  if (!same_session(a, b) || in_a.slots.empty() || in_b.slots.empty()) return std::nullopt;
  if (rounds_are_unique(a) != rounds_are_unique(b)) return std::nullopt;
  std::unordered_map<std::uint64_t, double> found;
  for (std::size_t i = 0; i < in_b.values.size(); ++i) found.emplace(in_b.slots[i], in_b.values[i]);
  PairedSeries pairs;
  std::size_t i = 0;
  for (const std::size_t size : in_a.group_sizes) {
    const std::size_t before = pairs.a.size();
    for (const std::size_t end = i + size; i < end; ++i) {
      const auto partner = found.find(in_a.slots[i]);
      if (partner == found.end()) continue;
      pairs.a.push_back(in_a.values[i]);
      pairs.b.push_back(partner->second);
    }
    if (pairs.a.size() > before) pairs.group_sizes.push_back(pairs.a.size() - before);
  }
  if (pairs.a.empty()) return std::nullopt;
  return pairs;
}

}  // namespace headroom
