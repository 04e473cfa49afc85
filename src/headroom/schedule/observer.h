// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "headroom/record/record.h"

namespace headroom {

/// Where a session is, for whoever shows it.
struct Progress {
  std::size_t group = 0, groups = 1;
  std::string title;
  std::string phase;  ///< "preparing", "calibrating", "sampling"
  std::size_t process = 0, processes = 1;
  std::uint32_t rounds = 0;
  double elapsed_ns = 0, max_time_ns = 0;
  double median_ns = 0;                    ///< of the first case, once there are samples
  std::optional<double> worst_half_width;  ///< of all cases: what the precision goal is held against
  double goal = 0;
};

struct GroupResult;

class Observer {
 public:
  virtual ~Observer() = default;
  virtual void progress(const Progress& progress) = 0;
  /// A round of the group at work is over.
  virtual void sampled(const GroupResult& /*so_far*/) {}
  /// A group is over: its records are final.
  virtual void finished(const std::vector<Record>& records) = 0;
};

}  // namespace headroom
