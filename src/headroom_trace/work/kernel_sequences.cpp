// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/work/kernel_sequences.h"

#include <algorithm>
#include <queue>
#include <unordered_map>
#include <utility>

#include "headroom_trace/tables/data_table.h"
#include "headroom_trace/work/device_work.h"

namespace headroom::trace {
namespace {

bool is_fusable(KernelCategory category) {
  return category != KernelCategory::kGemm && category != KernelCategory::kConvolution &&
         category != KernelCategory::kAttention && category != KernelCategory::kCommunication;
}

/// A kernel, or a separator (name kNoName).
struct Place {
  NameId name = kNoName;
  std::int64_t start_ns = 0, end_ns = 0, duration_ns = 0;
  std::uint32_t row = kNone;
};

std::vector<Place> change_indices(const Trace& trace, std::span<const std::vector<std::uint32_t>> runs) {
  std::vector<Place> places;
  for (const std::vector<std::uint32_t>& run : runs) {
    for (const std::uint32_t row : run) {
      const std::uint32_t event = trace.gpu[row].event;
      places.push_back({trace.events.name[event], trace.events.start_ns[event], trace.events.end_ns(event),
                        trace.events.duration_ns[event], row});
    }
    places.emplace_back();
  }
  return places;
}

std::vector<std::vector<std::uint32_t>> fusable_runs(const Trace& trace,
                                                     const std::vector<KernelCategory>& categories) {
  std::vector<std::vector<std::uint32_t>> runs;
  for (const GpuWork& stream : work_by_stream(trace)) {
    bool is_open = false;
    for (const std::uint32_t row : stream.rows) {
      const bool is_kernel = trace.events.category[trace.gpu[row].event] == Category::kKernel;
      const bool is_taken = is_kernel && is_fusable(categories[row]);
      if (is_taken && !is_open) runs.emplace_back();
      if (is_taken) runs.back().push_back(row);
      is_open = is_taken;
    }
  }
  return runs;
}

struct Level {
  std::vector<std::uint32_t> at;  ///< by place: the sequence that starts there, or kNone
  std::vector<std::uint32_t> starts;
  std::vector<std::uint32_t> first;
};

/// Omits sequences that occur once and their extensions.
Level level_of(const std::vector<Place>& places, std::size_t length, const Level* shorter) {
  Level level;
  level.at.assign(places.size(), kNone);
  std::unordered_map<std::uint64_t, std::uint32_t> numbers;
  std::vector<std::uint32_t> counts;
  for (std::size_t i = 0; i + length <= places.size(); ++i) {
    const NameId last = places[i + length - 1].name;
    const std::uint32_t front = shorter == nullptr ? places[i].name : shorter->at[i];
    if (last == kNoName || front == kNone) continue;
    const auto [place, is_new] =
        numbers.try_emplace(std::uint64_t{front} << 32U | last, static_cast<std::uint32_t>(counts.size()));
    if (is_new) counts.push_back(0);
    level.at[i] = place->second;
    ++counts[place->second];
  }
  std::vector<std::uint32_t> number(counts.size(), kNone);
  level.first = {0};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] < 2) continue;
    number[i] = static_cast<std::uint32_t>(level.first.size() - 1);
    level.first.push_back(level.first.back() + counts[i]);
  }
  level.starts.resize(level.first.back());
  std::vector<std::uint32_t> next(level.first.begin(), level.first.end() - 1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    std::uint32_t& at = level.at[i];
    if (at == kNone) continue;
    at = number[at];
    if (at != kNone) level.starts[next[at]++] = static_cast<std::uint32_t>(i);
  }
  return level;
}

class SequenceSearch {
 public:
  explicit SequenceSearch(std::vector<Place> places) : places_(std::move(places)), is_taken_(places_.size()) {
    for (std::size_t length = 2; length <= kLongestSequence; ++length) {
      levels_.push_back(level_of(places_, length, levels_.empty() ? nullptr : &levels_.back()));
      const auto count = static_cast<std::uint32_t>(levels_.back().first.size() - 1);
      for (std::uint32_t i = 0; i < count; ++i) offer(length, i);
    }
  }

  /// The time of a sequence only falls as others take kernels: the heap's top is the best if still current.
  std::vector<KernelSequence> take(std::size_t most) {
    std::vector<KernelSequence> found;
    while (!offers_.empty() && (most == 0 || found.size() < most)) {
      const Offer offer = offers_.top();
      offers_.pop();
      const KernelSequence now = left_of(offer.length, offer.number, false);
      if (now.count < 2) continue;
      if (now.total_ns < offer.total_ns) {
        offers_.push({now.total_ns, offer.length, offer.number});
      } else {
        found.push_back(left_of(offer.length, offer.number, true));
      }
    }
    return found;
  }

 private:
  struct Offer {
    std::int64_t total_ns = 0;
    std::size_t length = 0;
    std::uint32_t number = 0;
    bool operator<(const Offer& other) const {
      if (total_ns != other.total_ns) return total_ns < other.total_ns;
      if (length != other.length) return length < other.length;
      return number > other.number;
    }
  };

  void offer(std::size_t length, std::uint32_t number) {
    const KernelSequence all = left_of(length, number, false);
    if (all.count >= 2) offers_.push({all.total_ns, length, number});
  }

  KernelSequence left_of(std::size_t length, std::uint32_t number, bool takes) {
    const Level& level = levels_[length - 2];
    KernelSequence found;
    std::size_t next_free = 0;
    for (std::uint32_t i = level.first[number]; i < level.first[number + 1]; ++i) {
      const std::size_t start = level.starts[i];
      const auto is_used = [&](std::size_t k) { return is_taken_[start + k]; };
      bool is_free = start >= next_free;
      for (std::size_t k = 0; k < length && is_free; ++k) is_free = !is_used(k);
      if (!is_free) continue;
      next_free = start + length;
      add(start, length, found);
      for (std::size_t k = 0; k < length && takes; ++k) is_taken_[start + k] = true;
    }
    return found;
  }

  void add(std::size_t start, std::size_t length, KernelSequence& found) const {
    ++found.count;
    found.first_rows.push_back(places_[start].row);
    for (std::size_t k = start; k < start + length; ++k) {
      if (found.names.size() < length) found.names.push_back(places_[k].name);
      found.total_ns = saturating_add(found.total_ns, places_[k].duration_ns);
      if (k == start) continue;
      const std::int64_t gap = places_[k].start_ns - places_[k - 1].end_ns;
      found.gaps_ns = saturating_add(found.gaps_ns, std::max<std::int64_t>(gap, 0));
    }
  }

  std::vector<Place> places_;
  std::vector<bool> is_taken_;
  std::vector<Level> levels_;
  std::priority_queue<Offer> offers_;
};

}  // namespace

std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             const std::vector<KernelCategory>& categories,
                                             std::size_t most) {
  return kernel_sequences(trace, fusable_runs(trace, categories), most);
}

std::vector<KernelSequence> kernel_sequences(const Trace& trace,
                                             std::span<const std::vector<std::uint32_t>> runs,
                                             std::size_t most) {
  return SequenceSearch(change_indices(trace, runs)).take(most);
}

std::string sequence_text(const Trace& trace, const KernelSequence& sequence) {
  std::string text;
  for (std::size_t from = 0; from < sequence.names.size();) {
    const std::string name = readable_name(trace.names[sequence.names[from]]);
    std::size_t to = from + 1;
    while (to < sequence.names.size() && readable_name(trace.names[sequence.names[to]]) == name) ++to;
    text += (text.empty() ? "" : " + ") + name;
    if (to - from > 1) text += " x" + std::to_string(to - from);
    from = to;
  }
  return text;
}

}  // namespace headroom::trace
