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

/// Counts what all threads of this process do. Never throws but where said: virtual machines often count
/// nothing.
class ProcessCounters {
 public:
  /// Asks `kernel`, which must outlive this, what can be counted here. As many `events` as work_events() has.
  explicit ProcessCounters(CounterKernel& kernel = linux_counters(),
                           std::span<const CounterEvent> events = work_events(),
                           const std::vector<ControllerEvent>& controllers = memory_controllers());

  /// Whether anything is counted.
  bool any() const;
  /// What is counted, and of what is not why, and what would change that, as one line: "none: this machine
  /// does not offer them", "instructions, cycles (user space only); memory controllers: ...".
  std::string text() const;
  /// What the events are counted of; kNone where none is counted.
  CounterScope scope() const;
  /// Why none of the events is counted; empty if any is.
  std::string absence() const { return scope() == CounterScope::kNone ? absence_ : ""; }

  /// Counts while `run` runs; what that throws is passed on. Counters are open in this call only, so that
  /// nothing of them is in what is timed before or after it. Throws Error where a counter that was there is
  /// not any more: another program took it, or there may be no more open files.
  WorkCounts count(const std::function<void()>& run) const;

 private:
  class Opened;
  void count_controllers(Opened& counters, double took_s, WorkCounts& counts) const;

  CounterKernel* kernel_;
  std::vector<CounterEvent> events_;
  std::vector<bool> available_;  ///< of events_
  bool user_space_ = false;
  std::string absence_;  ///< why the first of those that are not counted is not; empty where all are
  std::vector<ControllerEvent> controllers_;
  std::string controllers_absence_;
};

}  // namespace headroom
