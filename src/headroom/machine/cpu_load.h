// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace headroom {

/// What some CPUs did over a short time.
struct CpuLoad {
  int cpus = 0;       ///< that were looked at; 0 where the kernel tells nothing
  double busy = 0;    ///< how many of them were at work for others, on average: 1.5 of 2
  double own = 0;     ///< how many worked for what is measured meanwhile, beside those
  double stolen = 0;  ///< how many of them the hypervisor gave to others
  double waited = 0;  ///< share of the time in which some task waited for a CPU; 0 where it is not told
};

/// Ticks of one CPU, or of several added up.
struct CpuTicks {
  std::uint64_t idle = 0, stolen = 0, total = 0;
};

/// The ticks of `cpus` from the text of /proc/stat, added up. Nothing where it has no line for one of them,
/// or is another text.
std::optional<CpuTicks> cpu_ticks(std::string_view proc_stat, std::span<const int> cpus);

/// Microseconds in which some task waited, from the text of /proc/pressure/cpu.
std::optional<std::uint64_t> pressure_us(std::string_view proc_pressure_cpu);

/// Reads /proc before and after `pause`, which returns how long it took, in seconds: what is busy meanwhile
/// is others if it sleeps. `proc` is the folder but in tests.
CpuLoad measure_cpu_load(std::span<const int> cpus, const std::function<double()>& pause,
                         const std::filesystem::path& proc = "/proc");

/// What to tell the user before `threads` threads are measured, one sentence of what is the matter and one of
/// what to do; empty where enough CPUs are free: enough are not at work for others, nor, where others are at work,
/// does what is measured have to share the last one with them. `when` it was, seen from measuring: "before",
/// "while". A thread that shares its CPU waits for whole time slices of the scheduler, and all others wait
/// for that thread: a program of 20 us was read as 7.6 ms.
struct LoadWarning {
  std::string what, advice;
  double busy_cpus = 0;
};
std::optional<LoadWarning> load_warning(const CpuLoad& load, int threads, std::string_view when = "before");

}  // namespace headroom
