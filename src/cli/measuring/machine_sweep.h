// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/plan.h"

namespace headroom::cli {

/// Returns read, write and copy over working sets, and peaks, for one and for `threads` threads, the patterns
/// of each point in one group; then the other devices. `coarse` takes every other size.
std::vector<Group> sweep_groups(const std::vector<RunnerOffer>& offers, int threads, bool coarse);

/// Returns the file of the last sweep.
std::filesystem::path stored_sweep(const std::string& fingerprint);

/// The best pattern's rate at one point.
struct SweepPoint {
  std::string device;  ///< "cpu", "cuda"
  std::string limit;   ///< "read", "write", "zero_fill", "copy", "peak"
  int threads = 1;
  std::int64_t bytes = 0;  ///< working set; 0 for peaks
  std::string dtype;       ///< of a peak
  std::string pattern;
  double rate = 0;               ///< GB/s; GFLOP/s for peaks
  std::optional<double> spread;  ///< relative half-width of the 95 % interval
  std::size_t samples = 0;
};
std::vector<SweepPoint> sweep_points(const std::vector<Record>& records);

}  // namespace headroom::cli
