// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

namespace headroom {

/// What the hardware counted of some work. Nothing where it does not count that, or did not this time.
struct WorkCounts {
  std::optional<double> instructions{}, cycles{}, cache_misses{};  ///< of the threads of the process
  /// That the memory controllers moved, for whatever program.
  std::optional<double> memory_bytes{}, memory_bytes_written{};
  /// That they moved in as long a time right after it, when the process slept.
  double background_bytes = 0;
  double share = 1;  ///< of the time in which the counter ran that ran least: 1 where none took turns

  bool operator==(const WorkCounts&) const = default;
};

}  // namespace headroom
