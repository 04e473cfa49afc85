// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "headroom/experiment/state.h"
#include "headroom/machine/perf_event.h"
#include "headroom/record/instrument.h"

namespace headroom {

/// instructions, cycles, cache_misses, in the order of WorkCounts.
std::span<const CounterEvent> work_events();

/// Hardware counters of all threads of this process. Virtual machines often count nothing; only count()
/// throws.
class ProcessCounters {
 public:
  /// Finds out which counters work. `kernel` must outlive this object. `events`: as many as work_events()
  /// has.
  explicit ProcessCounters(CounterKernel& kernel = linux_counters(),
                           std::span<const CounterEvent> events = work_events(),
                           const std::vector<ControllerEvent>& controllers = memory_controllers());

  bool any() const { return events_.any() || !controllers_.empty(); }
  /// Returns one line on the available counters, the reasons for missing ones, and remedies: "none: this
  /// machine does not offer them", "instructions, cycles (user space only); memory controllers: ...".
  std::string text() const;
  /// kNone if no event is counted.
  CounterScope scope() const;
  /// Why no event is counted; empty if any is.
  std::string absence() const { return events_.any() ? "" : events_.absence; }

  /// Counts while `run` runs; passes on its exceptions. Counters are open only during this call, so that they
  /// do not disturb timing before or after it. Throws Error if a counter has become unavailable: another
  /// program took it, or too many files are open.
  WorkCounts count(const std::function<void()>& run) const;

 private:
  class Opened;
  void count_controllers(Opened& counters, double took_s, WorkCounts& counts) const;

  CounterKernel* kernel_;
  CountableEvents events_;
  std::vector<ControllerEvent> controllers_;
  std::string controllers_absence_;
};

}  // namespace headroom
