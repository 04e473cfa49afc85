// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace headroom::trace::readers {

struct PerfettoEvent;

/// What the clocks of a trace showed at the same moments.
class PerfettoClocks {
 public:
  /// Takes a ClockSnapshot. Clocks 64 to 127 are those of the sequence.
  void add_snapshot(std::string_view snapshot, std::uint64_t sequence);
  /// Nanoseconds of a clock as those of the trace's own (the boot time where it names none). A clock that was
  /// never compared is taken for it.
  std::int64_t to_trace_time(std::uint64_t clock, std::uint64_t sequence, std::int64_t ns) const;

 private:
  using Key =
      std::pair<std::uint64_t, std::uint64_t>;  ///< clock and, where it is the sequence's own, sequence
  static Key key_of(std::uint64_t clock, std::uint64_t sequence);
  std::optional<std::int64_t> convert(Key from, Key to, std::int64_t ns) const;

  struct Reading {
    std::size_t snapshot = 0;
    std::int64_t ns = 0;
  };
  std::size_t snapshots_ = 0;
  std::map<Key, std::vector<Reading>> readings_;
  std::uint64_t primary_ = kBootTime;
  static constexpr std::uint64_t kBootTime = 6;
};

/// What packets of one sequence say for those that follow: names by number, defaults, clocks that count on.
class PerfettoSequence {
 public:
  /// Forgets the names: what was before is lost.
  void clear();
  bool has_state() const { return has_state_; }
  void take_interned(std::string_view interned);
  void take_defaults(std::string_view defaults);
  void take_clocks(std::string_view snapshot);

  using Texts = std::unordered_map<std::uint64_t, std::string>;
  Texts categories, names, annotation_names, annotation_texts;
  std::uint64_t default_track = 0;

  /// The time of an event on the trace's clock; nothing where it is out of range.
  std::optional<std::int64_t> time_of(bool has_timestamp, std::uint64_t timestamp, std::uint64_t clock,
                                      const PerfettoEvent& event, const PerfettoClocks& clocks,
                                      std::uint64_t sequence);

 private:
  struct Clock {
    std::uint64_t unit_ns = 1, last = 0;
    bool is_incremental = false;
  };
  std::map<std::uint64_t, Clock> clocks_;
  std::uint64_t default_clock_ = 0;
  std::int64_t last_us_ = 0;
  bool has_state_ = false;
};

}  // namespace headroom::trace::readers
