// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What an analysis reads; the reader skips what nobody needs without parsing it. GPU work, user annotations
/// (the steps) and metadata are always read.
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
  // What is asked for beside all events.
  kSyntax = 1U << 10,       ///< whether the text is JSON to the letter; where it is not, a problem says so
  kPreciseTimes = 1U << 11  ///< times that are no whole nanoseconds as doubles, too
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
  int threads = 0;  ///< 0: as many as this process may run on
  /// The list of events is read in pieces of about this size, each by one thread; what comes out does not
  /// depend on it unless text is broken. Small ones (64 is the least) let a small file have many.
  std::size_t window_bytes = std::size_t{1} << 19;
  /// Called now and then from one thread with the bytes of the file read so far and its size (0: not known).
  std::function<void(std::uint64_t done, std::uint64_t size)> progress;
  /// Asked now and then; true ends the reading with Error "interrupted".
  std::function<bool()> is_cancelled;
};

/// Reads a Chrome trace (an object with traceEvents, a bare array, either without its end), or one of the
/// other forms of readers/formats/, by what the file holds; plain, gzip, zstd or zip. Memory follows what is
/// kept, not the size of the file. What cannot be read is in Trace::problems with its byte offset. Throws
/// Error when the file cannot be opened or is no trace at all (naming what it looks like).
Trace read(const std::filesystem::path& path, const ReadOptions& options = {});

/// The same from text in memory, for tests and fuzzing. `source` names it in errors.
Trace read_text(std::string_view json, const std::string& source, const ReadOptions& options = {});

}  // namespace headroom::trace
