// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Needed data; the rest is not parsed. GPU work, user annotations (steps) and metadata are always read.
enum class Needs : std::uint32_t {
  kGpuWork = 0,
  kLaunches = 1U << 0,
  kOpEvents = 1U << 1,     ///< cpu_op: name, time and thread
  kOpArguments = 1U << 2,  ///< dims, types, strides, values, stacks of ops
  kPython = 1U << 3,
  kSyncs = 1U << 4,
  kMemory = 1U << 5,
  kFlows = 1U << 6,
  kGpuArguments = 1U << 7,  ///< grid, block, occupancy, bytes and bandwidth, collectives
  kOthers = 1U << 8,        ///< GPU annotations, overhead, kOther
  kOpIds = 1U << 9,         ///< external id, sequence number, forward thread
  kOps = kOpEvents | kOpIds,
  kAll = (1U << 10) - 1,
  // Not included in kAll.
  kSyntax = 1U << 10,       ///< report invalid JSON
  kPreciseTimes = 1U << 11  ///< keep fractions of a nanosecond
};
constexpr Needs operator|(Needs a, Needs b) {
  return static_cast<Needs>(static_cast<std::uint32_t>(a) | static_cast<std::uint32_t>(b));
}
constexpr bool has(Needs set, Needs one) {
  return (static_cast<std::uint32_t>(set) & static_cast<std::uint32_t>(one)) ==
         static_cast<std::uint32_t>(one);
}

struct ReadOptions {
  Needs needs = Needs::kAll;
  int threads = 0;  ///< 0: all available CPUs
  /// Chunk size per thread, at least 64. Affects results only for broken text.
  std::size_t window_bytes = std::size_t{1} << 19;
  /// Called periodically from one thread; size 0: unknown.
  std::function<void(std::uint64_t done, std::uint64_t size)> progress;
  /// Called periodically; true stops with Error "interrupted".
  std::function<bool()> is_cancelled;
};

/// Reads a Chrome trace (object or bare array, possibly truncated) or a format of headroom_trace/formats/,
/// detected by content; plain, gzip, zstd or zip. Memory follows the kept data. Lists unreadable parts in
/// Trace::problems. Throws Error if the file cannot be opened or is not a trace.
Trace read(const std::filesystem::path& path, const ReadOptions& options = {});

/// For tests and fuzzing. `source` is for errors.
Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options = {});

}  // namespace headroom::trace
