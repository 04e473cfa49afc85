// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "headroom/machine/perf_event.h"
#include "headroom/process/descriptor.h"

namespace headroom {

/// instructions, cycles, cache_misses, branch_misses: what tables and records call them.
std::span<const CounterEvent> hardware_events();

/// Counts events in the program that this thread starts next, with its descendants and threads, from its exec
/// on; this program itself is not counted. Where the kernel keeps its own work to itself
/// (perf_event_paranoid), only what runs in user space is counted: see of_user_space(). Never throws: virtual
/// machines often count nothing.
class ChildCounters {
 public:
  /// Asks what can be counted here.
  explicit ChildCounters(std::span<const CounterEvent> events = hardware_events());

  bool any() const;
  bool of_user_space() const { return user_space_; }
  /// Why the first of those that are not counted is not: the kernel's reason; empty where all are.
  const std::string& absence() const { return absence_; }

  /// To be called before each start of a program.
  void start();
  /// Of each event, how often it happened in the program started since start(), which must have ended;
  /// nothing for one that is not counted here, or was not while it ran. Where the machine has fewer counters
  /// than events, the kernel takes turns, and the counts are scaled to the whole time.
  std::vector<std::optional<double>> stop();

 private:
  struct Counter {
    CounterEvent event;
    bool available = false;
    Descriptor file;
  };

  std::vector<Counter> counters_;
  bool user_space_ = false;
  std::string absence_;
};

}  // namespace headroom
