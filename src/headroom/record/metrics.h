// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headroom {

// Bounds of every nonzero number of a result. Sums, squares and ratios then stay finite.
inline constexpr double kMinMagnitude = 1e-100, kMaxMagnitude = 1e100;

/// False for NaN.
constexpr bool is_bounded(double number) {
  const double magnitude = number < 0 ? -number : number;
  return magnitude == 0 || (magnitude >= kMinMagnitude && magnitude <= kMaxMagnitude);
}

/// 1e9 operations per second.
inline constexpr const char* kFloatRate = "GFLOP/s";
inline constexpr const char* kIntegerRate = "GOP/s";

/// Matches "int8", "s8", "i32", "uint8".
constexpr bool is_integer_dtype(std::string_view dtype) {
  for (const std::string_view name : {"uint", "int", "u", "i", "s"}) {
    if (!dtype.starts_with(name)) continue;
    const std::string_view bits = dtype.substr(name.size());
    return !bits.empty() && std::ranges::all_of(bits, [](char c) { return c >= '0' && c <= '9'; });
  }
  return false;
}

/// `dtype` may be empty.
constexpr const char* operation_rate(std::string_view dtype) {
  return is_integer_dtype(dtype) ? kIntegerRate : kFloatRate;
}

constexpr bool is_operation_rate(std::string_view metric) {
  return metric == kFloatRate || metric == kIntegerRate;
}

/// Equates GFLOP/s, in older records of integer cases, with GOP/s.
constexpr bool is_same_metric(std::string_view a, std::string_view b) {
  return a == b || (is_operation_rate(a) && is_operation_rate(b));
}

/// Overhead of clock and Python, ns per iteration.
inline constexpr const char* kClockOverhead = "clock";
inline constexpr const char* kPythonOverhead = "python";
inline constexpr std::array<std::string_view, 2> kOverheadMetrics{kClockOverhead, kPythonOverhead};
/// In Environment::extra_info: times exclude the overhead.
inline constexpr const char* kOverheadTakenOff = "overhead_taken_off";
/// Bodies below this multiple are marked.
inline constexpr double kOverheadFactor = 20;

constexpr bool is_overhead(std::string_view metric) {
  for (const std::string_view name : kOverheadMetrics) {
    if (metric == name) return true;
  }
  return false;
}

// Hardware counts per iteration, the first three named as for commands. Volumes in bytes, as in LIKWID.
inline constexpr const char* kInstructions = "instructions";
inline constexpr const char* kCycles = "cycles";
inline constexpr const char* kCacheMisses = "cache_misses";
/// Bytes moved by the memory controllers, for all programs.
inline constexpr const char* kDataVolume = "data_volume";
inline constexpr const char* kDataWritten = "data_volume_written";
/// The same in an equal time without the case.
inline constexpr const char* kBackground = "data_volume_background";
/// Cache misses times line size; the level depends on the processor.
inline constexpr const char* kMissVolume = "miss_volume";

inline constexpr std::array<std::string_view, 7> kCountedMetrics{
    kInstructions, kCycles, kCacheMisses, kDataVolume, kDataWritten, kBackground, kMissVolume};

/// In Metric::extra_info of multiplexed counters: the smallest share of time in which one counted.
inline constexpr const char* kCountedShare = "counted share";

/// GPU work, and kernels named gemm, conv, cutlass or wgrad, over the case's time without profiler.
inline constexpr const char* kGpuUtilization = "gpu_utilization";
inline constexpr const char* kMmConvUtilization = "mm_conv_utilization";

/// Bus over algorithm bandwidth: 2 (n - 1) / n for all_reduce; (n - 1) / n for reduce_scatter, all_gather and
/// all_to_all; 1 for broadcast and reduce; else nothing. Source: nccl-tests' performance notes.
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
