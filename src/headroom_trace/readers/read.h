// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// The data an analysis needs; the reader skips the rest without parsing it. GPU work, user annotations (the
/// steps) and metadata are always read.
enum class Needs : std::uint32_t {
  kGpuWork = 0,
  kLaunches = 1U << 0,     ///< runtime and driver events
  kOpEvents = 1U << 1,     ///< cpu_op events by name, time and thread
  kOpArguments = 1U << 2,  ///< dims, types, strides, values, stacks of ops
  kPython = 1U << 3,
  kSyncs = 1U << 4,
  kMemory = 1U << 5,
  kFlows = 1U << 6,
  kGpuArguments = 1U << 7,  ///< grid, block, occupancy, bytes and bandwidth, collectives
  kOthers = 1U << 8,        ///< every other event with a duration (GPU annotations, overhead, kOther)
  kOpIds = 1U << 9,         ///< external id, sequence number, forward thread of ops and user annotations
  kOps = kOpEvents | kOpIds,
  kAll = (1U << 10) - 1,
  // Extras that kAll does not include.
  kSyntax = 1U << 10,       ///< report a problem if the text is not strict JSON
  kPreciseTimes = 1U << 11  ///< also keep times with fractions of a nanosecond as doubles
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
  int threads = 0;  ///< 0: all CPUs available to this process
  /// The list of events is read in pieces of about this size, one thread each; the result depends on it only
  /// if the text is broken. A small value (at least 64) splits even small files.
  std::size_t window_bytes = std::size_t{1} << 19;
  /// Called periodically from one thread with the bytes of the file read so far and its size (0: not known).
  std::function<void(std::uint64_t done, std::uint64_t size)> progress;
  /// Called periodically; return true to stop with Error "interrupted".
  std::function<bool()> is_cancelled;
};

/// Reads a Chrome trace (an object with traceEvents or a bare array, possibly truncated) or one of
/// headroom_trace/formats/, detected by content; plain, gzip, zstd or zip. Memory follows what is kept, not
/// the size of the file. What cannot be read is listed in Trace::problems with its byte offset. Throws Error
/// if the file cannot be opened or is not a trace (naming what it looks like).
Trace read(const std::filesystem::path& path, const ReadOptions& options = {});

/// Reads text in memory, for tests and fuzzing. `source` names it in errors.
Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options = {});

}  // namespace headroom::trace
