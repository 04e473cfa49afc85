// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/hardware_counters.h"

#include <linux/perf_event.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace headroom {
namespace {

Descriptor open_event(const CounterEvent& event, bool user_space) {
  return open_perf_event(event, CountedCode::kProgramsStarted, user_space);
}

}  // namespace

std::span<const CounterEvent> hardware_events() {
  static constexpr std::array<CounterEvent, 4> kEvents{{
      {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
      {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
      {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
      {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
  }};
  return kEvents;
}

ChildCounters::ChildCounters(std::span<const CounterEvent> events) {
  for (const CounterEvent& event : events) {
    Descriptor file = open_event(event, user_space_);
    if (!file.is_open() && !user_space_ && (errno == EACCES || errno == EPERM)) {
      file = open_event(event, true);
      // All of them or none: a share of one in another must mean something.
      user_space_ = file.is_open();
    }
    if (!file.is_open() && absence_.empty()) absence_ = perf_event_absence(errno);
    counters_.push_back({event, file.is_open(), {}});
  }
}

bool ChildCounters::any() const {
  return std::ranges::any_of(counters_, &Counter::available);
}

void ChildCounters::start() {
  // Anew for each program: the kernel may hand a parent's events on to its child, and they end with it.
  for (Counter& counter : counters_) {
    if (counter.available) counter.file = open_event(counter.event, user_space_);
  }
}

std::vector<std::optional<double>> ChildCounters::stop() {
  struct Reading {
    std::uint64_t count = 0, enabled_ns = 0, running_ns = 0;
  };
  std::vector<std::optional<double>> counts;
  for (Counter& counter : counters_) {
    Reading reading;
    const bool read =
        counter.file.is_open() && ::read(counter.file.get(), &reading, sizeof reading) == sizeof reading;
    counter.file.reset();
    counts.emplace_back();
    if (!read || reading.running_ns == 0) continue;
    const double turns = static_cast<double>(reading.enabled_ns) / static_cast<double>(reading.running_ns);
    counts.back() = static_cast<double>(reading.count) * turns;
  }
  return counts;
}

}  // namespace headroom
