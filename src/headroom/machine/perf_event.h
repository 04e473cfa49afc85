// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headroom {

struct CounterEvent {
  const char* name;
  std::uint32_t type = 0;    ///< PERF_TYPE_…
  std::uint64_t config = 0;  ///< PERF_COUNT_…
};

std::string perf_event_absence(int error);

struct CounterRequest {
  std::uint32_t type = 0;                 ///< PERF_TYPE_…, or a unit driver's number
  std::array<std::uint64_t, 3> config{};  ///< perf_event_attr's config, config1 and config2
  int thread = 0;                         ///< thread id, 0: this one; -1: none
  int cpu = -1;                           ///< count everything on this CPU or its unit; -1: only the thread
  int leader = -1;                        ///< group leader, scheduled together with this counter; -1: none
  bool user_space = false;
  bool descendants = true;  ///< includes threads and processes that the thread starts
  bool from_exec = false;   ///< starts in each descendant on exec
};

struct CounterReading {
  std::uint64_t count = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;  ///< less than enabled_ns if counters share the hardware in turns

  /// Scaled to the whole time if multiplexed; nullopt if it never ran. Source: perf_event_open(2).
  std::optional<double> whole() const;
};

/// perf_event_open; tests use a fake.
class CounterKernel {
 public:
  virtual ~CounterKernel() = default;
  /// The caller closes it. Stopped unless it has a leader. Returns -errno on failure.
  virtual int open(const CounterRequest& request) = 0;
  /// With its group.
  virtual void start(int counter) = 0;
  virtual void stop(int counter) = 0;
  virtual std::optional<CounterReading> read(int counter) = 0;
  virtual void close(int counter) = 0;
  virtual std::vector<int> threads() = 0;
};

CounterKernel& linux_counters();

struct CountableEvents {
  std::vector<CounterEvent> events;
  std::vector<bool> available;
  bool user_space = false;  ///< all exclude the kernel, as their ratios must be meaningful
  std::string absence;      ///< of the first uncounted event; empty if all are counted

  bool any() const;
  CounterRequest request(std::size_t event) const;
};

/// Opens each once. Excludes the kernel if perf_event_paranoid requires it.
CountableEvents countable_events(CounterKernel& kernel, std::span<const CounterEvent> events);

/// User-space instructions of the calling thread. Often unavailable in virtual machines.
class InstructionCounter {
 public:
  InstructionCounter();
  ~InstructionCounter();
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;

  /// Empty if counting works.
  std::string absence() const { return counter_ < 0 ? perf_event_absence(-counter_) : ""; }
  /// Nullopt if not counted or if another program holds the counter.
  std::optional<double> read() const;

 private:
  int counter_;  ///< -errno if not open
};

/// Transfers of a memory controller in one direction, by all programs.
struct ControllerEvent {
  enum class Traffic { kRead, kWrite, kBoth };
  std::string unit;  ///< "uncore_imc_0"
  std::uint32_t type = 0;
  std::array<std::uint64_t, 3> config{};
  int cpu = 0;  ///< CPU that owns the unit
  double bytes_per_count = 0;
  Traffic traffic = Traffic::kBoth;
};

/// Transfer events of all known memory controllers: Intel's uncore_imc, else uncore_imc_free_running; AMD's
/// amd_umc, else amd_df of Zen to Zen 3. Opening them may be refused.
std::vector<ControllerEvent> memory_controllers(
    const std::filesystem::path& devices = "/sys/bus/event_source/devices");

/// Encodes "event=0x04,umask=0x03" into the config words of perf_event_attr. Files in `format` give the bits
/// of each term ("config:0-7,32-35"). False for a term without a file or a value that does not fit.
bool encode_event(const std::string& terms, const std::filesystem::path& format,
                  std::array<std::uint64_t, 3>& config);

}  // namespace headroom
