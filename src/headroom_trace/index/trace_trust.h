// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

/// What makes figures of a trace wrong or incomplete.
enum class DoubtKind : std::uint8_t {
  kOverrun,              ///< work that ends long after later work of its stream: left out
  kFarTime,              ///< events far from all others: left out
  kLaunchesWithoutWork,  ///< the device's side of them is missing
  kWorkWithoutLaunches,  ///< in a file that has launches
  kNoDevice,             ///< launches, but no work of a device at all
  kStepsNotWhole,        ///< steps that lack work for their launches
  kCrossing              ///< functions of Python that end after the one around them
};

struct Doubt {
  DoubtKind kind = DoubtKind::kOverrun;
  std::size_t count = 0, of = 0;
  std::string example = {};     ///< name of the first of them
  std::int64_t longest_ns = 0;  ///< of the events left out for their duration
};

/// "1 impossible duration left out (3.40 s of 'gemm', with later work of its stream inside)"; `done`: what
/// became of impossible events.
std::string doubt_text(const Doubt& doubt, const char* done = "left out");

/// Events that cannot be right, to be left out before any analysis.
struct ImpossibleEvents {
  std::vector<std::uint32_t> rows;  ///< of Trace::events, ascending
  std::vector<Doubt> doubts;        ///< kOverrun, kFarTime
};

/// Finds events that start more than 100 times as far from the others as these are apart (at least 100 s),
/// and device work of more than 100 times the median of its name that has two or more later pieces of its
/// stream wholly inside. O(n) for healthy traces.
ImpossibleEvents impossible_events(const TraceIndex& index);

/// The trace without them.
Trace without(const Trace& trace, const ImpossibleEvents& impossible);

/// The other doubts, about what is missing. Launches are only judged where the host's calls were read.
std::vector<Doubt> missing_parts(const TraceIndex& index);

}  // namespace headroom::trace
