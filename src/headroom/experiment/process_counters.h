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

/// In the order of WorkCounts.
std::span<const CounterEvent> work_events();

/// Hardware counters of all threads of this process; often none in virtual machines. Only count() throws.
class ProcessCounters {
 public:
  /// Finds the working counters. `kernel` must outlive this. `events`: as many as work_events() has.
  explicit ProcessCounters(CounterKernel& kernel = linux_counters(),
                           std::span<const CounterEvent> events = work_events(),
                           const std::vector<ControllerEvent>& controllers = memory_controllers());

  bool any() const { return events_.any() || !controllers_.empty(); }
  /// One line on the counters, reasons for missing ones, and remedies: "none: this machine does not offer
  /// them", "instructions, cycles (user space only); memory controllers: ...".
  std::string text() const;
  /// kNone if no event is counted.
  CounterScope scope() const;
  /// Empty if any event is counted.
  std::string absence() const { return events_.any() ? "" : events_.absence; }

  /// Counts while `run` runs; rethrows. Counters are open only during this call, so as not to disturb timing.
  /// Throws Error if a counter has become unavailable (another program took it, too many open files).
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
