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

/// The groups that show what a machine reaches: read, write and copy over the working sets, and the peaks,
/// for one and for `threads` threads; the patterns of each point interleaved in one group. Devices that have
/// limits follow, each apart. `coarse` takes every other size.
std::vector<Group> sweep_groups(const std::vector<RunnerOffer>& offers, int threads, bool coarse);

/// Where `headroom machine` keeps its last sweep of the machine of this fingerprint.
std::filesystem::path stored_sweep(const std::string& fingerprint);

/// The best pattern's rate at one point of the sweep.
struct SweepPoint {
  std::string device;  ///< "cpu", "cuda"
  std::string limit;   ///< "read", "write", "zero_fill", "copy", "peak"
  int threads = 1;
  std::int64_t bytes = 0;  ///< working set; 0 for peaks
  std::string dtype;       ///< of a peak
  std::string pattern;     ///< the best one
  double rate = 0;         ///< GB/s, or GFLOP/s for peaks
  std::optional<double>
      spread;  ///< relative half-width of the 95 % interval; nothing where samples are too few
  std::size_t samples = 0;
};
std::vector<SweepPoint> sweep_points(const std::vector<Record>& records);

}  // namespace headroom::cli
