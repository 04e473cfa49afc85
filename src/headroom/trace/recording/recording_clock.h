// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace headroom::trace {

/// One moment on the clock that recorders measure with, and on the one that counts from 1970.
struct ClockReading {
  std::int64_t steady_ns = 0;  ///< std::chrono::steady_clock
  std::int64_t unix_ns = 0;    ///< std::chrono::system_clock
};

ClockReading read_clocks();

/// The same moment on two clocks.
struct ClockPair {
  std::int64_t from_ns = 0, to_ns = 0;
};

/// Turns times of a clock that is not ours (a device's, a profiler's) into times of ours. Two clocks differ
/// in their offset and, by some parts in a million, in their rate: two pairs give both. Pairs that lie less
/// than 10 ms apart give the offset alone, for the error of a reading would make a rate of its own.
class ClockMap {
 public:
  /// Throws Error where the later pair is before the earlier on either clock, or the rates differ by more
  /// than 1 %: one of the clocks was set.
  ClockMap(ClockPair earlier, ClockPair later);

  /// Nanoseconds of the second clock; of times outside the pairs too.
  std::int64_t operator()(std::int64_t from_ns) const;

 private:
  ClockPair origin_;
  double rate_ = 1;  ///< nanoseconds of the second clock for one of the first
};

}  // namespace headroom::trace
