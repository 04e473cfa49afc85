// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/paired_series.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

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

/// What tells the round of each steady value; empty where rounds are not known.
std::vector<std::uint64_t> slots_of(const Record& record) {
  std::vector<std::uint64_t> slots;
  const bool in_rounds = std::ranges::all_of(record.samples, [](const ProcessSamples& process) {
    return process.rounds.size() == process.values.size();
  });
  if (!in_rounds) return slots;
  const bool unique = rounds_are_unique(record);
  for (std::size_t p = 0; p < record.samples.size(); ++p) {
    const ProcessSamples& process = record.samples[p];
    for (std::size_t i = process.warmup; i < process.rounds.size(); ++i) {
      slots.push_back((unique ? 0 : std::uint64_t{p} << 32) | process.rounds[i]);
    }
  }
  return slots;
}

/// Finds the value of a round. Rounds nearly always ascend; then nothing is built for it.
class PartnerSearch {
 public:
  explicit PartnerSearch(std::vector<std::uint64_t> slots)
      : slots_(std::move(slots)), ascending_(std::ranges::is_sorted(slots_)) {
    if (ascending_) return;
    for (std::size_t i = 0; i < slots_.size(); ++i) places_.emplace(slots_[i], i);
  }

  std::optional<std::size_t> of(std::uint64_t slot) const {
    if (ascending_) {
      const auto found = std::ranges::lower_bound(slots_, slot);
      if (found == slots_.end() || *found != slot) return std::nullopt;
      return static_cast<std::size_t>(found - slots_.begin());
    }
    const auto found = places_.find(slot);
    return found == places_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::vector<std::uint64_t> slots_;
  bool ascending_;
  std::unordered_map<std::uint64_t, std::size_t> places_;
};

}  // namespace

bool same_session(const Record& a, const Record& b) {
  if (!a.environment || !b.environment) return false;
  if (a.environment == b.environment) return true;
  const Environment& left = *a.environment;
  const Environment& right = *b.environment;
  if (!left.session.empty() && !right.session.empty()) return left.session == right.session;
  return left.timestamp != 0 && left.timestamp == right.timestamp && !left.fingerprint.empty() &&
         left.fingerprint == right.fingerprint && left.command == right.command;
}

std::optional<PairedSeries> paired_series(const Record& a, const Record& b, double factor) {
  if (!same_session(a, b) || rounds_are_unique(a) != rounds_are_unique(b)) return std::nullopt;
  const Series in_a = steady(a, factor), in_b = steady(b);
  const std::vector<std::uint64_t> slots = slots_of(a);
  const PartnerSearch partners(slots_of(b));
  PairedSeries pairs;
  std::size_t i = 0;
  for (const std::size_t size : in_a.group_sizes) {
    const std::size_t before = pairs.a.size();
    for (const std::size_t end = std::min(i + size, slots.size()); i < end; ++i) {
      const auto partner = partners.of(slots[i]);
      if (!partner) continue;
      pairs.a.push_back(in_a.values[i]);
      pairs.b.push_back(in_b.values[*partner]);
    }
    if (pairs.a.size() > before) pairs.group_sizes.push_back(pairs.a.size() - before);
  }
  if (pairs.a.empty()) return std::nullopt;
  return pairs;
}

}  // namespace headroom
