// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

/// Metrics, and their units, for 1e9 operations per second. Integer operations are not FLOPs.
inline constexpr const char* kFloatRate = "GFLOP/s";
inline constexpr const char* kIntegerRate = "GOP/s";

/// Whether `dtype`, under any usual name ("int8", "s8", "i32", "uint8"), is an integer type.
constexpr bool is_integer_dtype(std::string_view dtype) {
  for (const std::string_view name : {"uint", "int", "u", "i", "s"}) {
    if (!dtype.starts_with(name)) continue;
    const std::string_view bits = dtype.substr(name.size());
    return !bits.empty() && std::ranges::all_of(bits, [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

/// Returns the metric, and unit, of a case that computes in `dtype`, which may be empty.
constexpr const char* operation_rate(std::string_view dtype) {
  return is_integer_dtype(dtype) ? kIntegerRate : kFloatRate;
}

constexpr bool is_operation_rate(std::string_view metric) {
  return metric == kFloatRate || metric == kIntegerRate;
}

/// Whether both names mean the same metric. Older records of integer cases say GFLOP/s instead of GOP/s.
constexpr bool is_same_metric(std::string_view a, std::string_view b) {
  return a == b || (is_operation_rate(a) && is_operation_rate(b));
}

/// Metrics for the overhead of measuring, in ns per iteration: of reading the clock, and of calling a Python
/// body.
inline constexpr const char* kClockOverhead = "clock";
inline constexpr const char* kPythonOverhead = "python";
inline constexpr std::array<std::string_view, 2> kOverheadMetrics{kClockOverhead, kPythonOverhead};
/// Key in Environment::extra_info: the overhead has been subtracted from the times.
inline constexpr const char* kOverheadTakenOff = "overhead_taken_off";
/// A body faster than this many times its overhead is marked.
inline constexpr double kOverheadFactor = 20;

constexpr bool is_overhead(std::string_view metric) {
  for (const std::string_view name : kOverheadMetrics) {
    if (metric == name) return true;
  }
  return false;
}

// Hardware counts per iteration. The first three have the same names for commands. Volumes are LIKWID's "data
// volume", in bytes.
inline constexpr const char* kInstructions = "instructions";
inline constexpr const char* kCycles = "cycles";
inline constexpr const char* kCacheMisses = "cache_misses";
/// Moved by the memory controllers, for all programs.
inline constexpr const char* kDataVolume = "data_volume";
inline constexpr const char* kDataWritten = "data_volume_written";
/// Moved in an equal time while the case does not run.
inline constexpr const char* kBackground = "data_volume_background";
/// Cache misses times the line size. The cache level depends on the processor.
inline constexpr const char* kMissVolume = "miss_volume";

inline constexpr std::array<std::string_view, 7> kCountedMetrics{
    kInstructions, kCycles, kCacheMisses, kDataVolume, kDataWritten, kBackground, kMissVolume};

/// Key in Metric::extra_info: counters were multiplexed. Its value is the smallest share of the time in which
/// any of them counted.
inline constexpr const char* kCountedShare = "counted share";

/// Metrics of a traced case, of unit "1": time of GPU work, and of kernels named gemm, conv, cutlass or
/// wgrad, over the time of the case without the profiler.
inline constexpr const char* kGpuUtilization = "gpu_utilization";
inline constexpr const char* kMmConvUtilization = "mm_conv_utilization";

/// Returns bus bandwidth / algorithm bandwidth among n ranks: 2 (n - 1) / n for all_reduce; (n - 1) / n for
/// reduce_scatter, all_gather and all_to_all; 1 for broadcast and reduce. Nothing for other collectives or n
/// < 2. Source: performance notes of nccl-tests.
constexpr std::optional<double> bus_factor(std::string_view collective, std::int64_t ranks) {
  if (ranks < 2) return std::nullopt;
  const auto n = static_cast<double>(ranks);
  if (collective == "all_reduce") return 2 * (n - 1) / n;
  if (collective == "reduce_scatter" || collective == "all_gather" || collective == "all_to_all")
    return (n - 1) / n;
  if (collective == "broadcast" || collective == "reduce") return 1;
  return std::nullopt;
}

}  // namespace headroom
