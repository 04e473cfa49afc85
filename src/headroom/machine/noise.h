// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "headroom/base/files.h"
#include "headroom/record/record.h"

namespace headroom {

/// Noise around a sample: steal time, involuntary switches and page faults of this process, and frequency of
/// its first allowed CPU. A reading takes tens of microseconds: keep it out of timed regions.
class NoiseMeter {
 public:
  NoiseMeter();

  void start();
  /// Since start() or construction. May be called repeatedly.
  SampleNoise stop();

 private:
  struct Reading {
    std::uint64_t steal_ticks = 0, involuntary = 0, faults = 0;
  };
  Reading read() const;

  Descriptor stat_file_;
  Descriptor frequency_file_;
  double ms_per_tick_ = 10;
  Reading start_;
};

/// Over all CPUs. Nullopt if not counted (before Linux 2.6.11) or for other text.
std::optional<std::uint64_t> steal_ticks(std::string_view proc_stat);

/// "performance", "powersave", ...; empty if unknown (virtual machines).
std::string cpu_governor();

struct CpuLoad {
  int cpus = 0;       ///< observed CPUs; 0 if unknown
  double busy = 0;    ///< CPUs busy with other work, on average: 1.5 of 2
  double own = 0;     ///< further CPUs busy with the measured program
  double stolen = 0;  ///< CPUs stolen by the hypervisor
  double waited = 0;  ///< share of time in which a task waited for a CPU; 0 if unknown
};

struct CpuTicks {
  std::uint64_t idle = 0, stolen = 0, total = 0;
};

/// Sum over `cpus`. Nullopt if a CPU is missing or for other text.
std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, std::span<const int> cpus);

/// Microseconds for which a task waited.
std::optional<std::uint64_t> pressure_us(std::string_view proc_pressure_cpu);

/// Reads /proc before and after `pause`, which returns its seconds. If it sleeps, all load is other work.
/// `proc` is "/proc" except in tests.
CpuLoad measure_cpu_load(std::span<const int> cpus, const std::function<double()>& pause,
                         const std::filesystem::path& proc = "/proc");

/// Warning before measuring with `threads` threads; nullopt if enough CPUs are free. Under load one more CPU
/// than threads must be free: a thread that shares its CPU waits for whole scheduler time slices, and all
/// others wait for it (a 20 us program was measured as 7.6 ms). `when` the load was measured: "before" or
/// "while".
struct LoadWarning {
  Note note;
  std::string advice;
  double busy_cpus = 0;
};
std::optional<LoadWarning> load_warning(const CpuLoad& load, int threads, std::string_view when = "before");

}  // namespace headroom
