// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace headroom {

/// One counter: what it counts, and where.
struct CounterRequest {
  std::uint32_t type = 0;                 ///< PERF_TYPE_…, or the number of a unit's driver
  std::array<std::uint64_t, 3> config{};  ///< perf_event_attr's config, config1 and config2
  int thread = 0;           ///< the kernel's number of a thread, counted with those that it starts; -1: none
  int cpu = -1;             ///< all that this CPU, or the unit behind it, does; -1: what the thread does
  int leader = -1;          ///< a counter that this one is on the hardware together with; -1: none
  bool user_space = false;  ///< leaves the kernel's own work out
};

struct CounterReading {
  std::uint64_t count = 0;
  std::uint64_t enabled_ns = 0;  ///< time for which it was to count
  std::uint64_t running_ns = 0;  ///< time for which it did: less where counters take turns on the hardware
};

/// What the kernel offers of perf_event_open, or what a test says that it does.
class CounterKernel {
 public:
  virtual ~CounterKernel() = default;
  /// A counter that does not count yet, to be closed; minus errno where there is none.
  virtual int open(const CounterRequest& request) = 0;
  /// Of a counter and those that it leads.
  virtual void start(int counter) = 0;
  virtual void stop(int counter) = 0;
  /// Nothing where it cannot be read.
  virtual std::optional<CounterReading> read(int counter) = 0;
  virtual void close(int counter) = 0;
  /// The kernel's numbers of the threads of this process.
  virtual std::vector<int> threads() = 0;
};

/// That of this machine.
CounterKernel& linux_counters();

}  // namespace headroom
