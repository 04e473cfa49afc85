// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>

#include "headroom/base/json.h"

namespace headroom::cli {

/// What commands of this user are measuring now, from their journals. A journal is read again once it grew,
/// and so rarely that reading it takes a twentieth of a CPU at most: looking must not disturb what is
/// measured. Not for several threads at once.
class LiveRuns {
 public:
  /// [{"command", "time": seconds since 1970, "finished": groups, "title": of the group at work,
  ///   "cases": [{"case", "metric", "unit", "value", "low", "high", "samples"}], "left_out": how many more,
  ///   "problem": why it cannot be read, or empty}]
  Json now();

 private:
  struct Seen {
    std::uintmax_t size = 0;
    std::chrono::steady_clock::time_point not_before;
    Json told;
  };
  std::map<std::filesystem::path, Seen> seen_;
};

}  // namespace headroom::cli
