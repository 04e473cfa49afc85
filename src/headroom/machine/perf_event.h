// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "headroom/base/files.h"

namespace headroom {

struct CounterEvent {
  const char* name;
  std::uint32_t type = 0;    ///< PERF_TYPE_…
  std::uint64_t config = 0;  ///< PERF_COUNT_…
};

enum class CountedCode {
  kProgramsStarted,  ///< programs started by this thread, from exec on
  kThisThread,       ///< this thread, from now on
};

/// On failure returns a closed descriptor and sets errno. `user_space` excludes kernel work.
Descriptor open_perf_event(const CounterEvent& event, CountedCode code, bool user_space);

std::string perf_event_absence(int error);

/// User-space instructions of the calling thread. Often unavailable in virtual machines.
class InstructionCounter {
 public:
  InstructionCounter();

  /// Empty if counting works.
  const std::string& absence() const { return absence_; }
  /// Nullopt if not counted or if another program holds the counter.
  std::optional<double> read() const;

 private:
  Descriptor file_;
  std::string absence_;
};

struct CounterRequest {
  std::uint32_t type = 0;                 ///< PERF_TYPE_…, or a unit driver's number
  std::array<std::uint64_t, 3> config{};  ///< perf_event_attr's config, config1 and config2
  int thread = 0;                         ///< thread id; includes threads that it starts. -1: none
  int cpu = -1;                           ///< count everything on this CPU or its unit; -1: only the thread
  int leader = -1;                        ///< group leader, scheduled together with this counter; -1: none
  bool user_space = false;
};

struct CounterReading {
  std::uint64_t count = 0;
  std::uint64_t enabled_ns = 0;
  std::uint64_t running_ns = 0;  ///< less than enabled_ns if counters share the hardware in turns
};

/// perf_event_open; tests use a fake.
class CounterKernel {
 public:
  virtual ~CounterKernel() = default;
  /// Opens a stopped counter, to be closed by the caller. Returns -errno on failure.
  virtual int open(const CounterRequest& request) = 0;
  /// Starts or stops a counter and its group.
  virtual void start(int counter) = 0;
  virtual void stop(int counter) = 0;
  /// Nullopt if not readable.
  virtual std::optional<CounterReading> read(int counter) = 0;
  virtual void close(int counter) = 0;
  virtual std::vector<int> threads() = 0;
};

CounterKernel& linux_counters();

/// Transfers of a memory controller in one direction, by any program.
struct ControllerEvent {
  enum class Traffic { kRead, kWrite, kBoth };
  std::string unit;  ///< "uncore_imc_0"
  std::uint32_t type = 0;
  std::array<std::uint64_t, 3> config{};
  int cpu = 0;  ///< CPU that owns the unit
  double bytes_per_count = 0;
  Traffic traffic = Traffic::kBoth;
};

/// Transfer events of all memory controllers with known counters: Intel's uncore_imc, else
/// uncore_imc_free_running; AMD's amd_umc, else amd_df of Zen to Zen 3. Opening them may still be refused.
std::vector<ControllerEvent> memory_controllers(
    const std::filesystem::path& devices = "/sys/bus/event_source/devices");

/// Encodes "event=0x04,umask=0x03" into the config words of perf_event_attr. The files in `format` give the
/// bits of each term ("config:0-7,32-35"). Returns false for a term without a file or a value that does not
/// fit.
bool encode_event(const std::string& terms, const std::filesystem::path& format,
                  std::array<std::uint64_t, 3>& config);

}  // namespace headroom
