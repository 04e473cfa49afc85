// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom_trace/columns/trace.h"
#include "headroom_trace/index/trace_index.h"

namespace headroom::trace {

enum class DoubtKind : std::uint8_t {
  kOverrun,  ///< ends long after later work of its stream: left out
  kFarTime,  ///< far from all other events: left out
  kLaunchesWithoutWork,
  kWorkWithoutLaunches,  ///< in a file with launches
  kNoDevice,
  kStepsNotWhole,
  kCrossing  ///< Python functions outliving their parent
};

struct Doubt {
  DoubtKind kind = DoubtKind::kOverrun;
  std::size_t count = 0, of = 0;
  std::string example = {};  ///< first name
  std::int64_t longest_ns = 0;
};

/// "1 impossible duration left out (3.40 s of 'gemm', with later work of its stream inside)"; `done`: "left
/// out"
std::string doubt_text(const Doubt& doubt, const char* done = "left out");

/// Events to leave out before any analysis.
struct ImpossibleEvents {
  std::vector<std::uint32_t> rows;  ///< of Trace::events, ascending
  std::vector<Doubt> doubts;        ///< kOverrun, kFarTime
};

/// Events more than 100 times as far from the others as these spread (at least 100 s), and device work over
/// 100 times the median of its name that encloses two or more later events of its stream. O(n) for healthy
/// traces.
ImpossibleEvents impossible_events(const TraceIndex& index);

Trace without(const Trace& trace, const ImpossibleEvents& impossible);

/// Judges launches only where host calls were read.
std::vector<Doubt> missing_parts(const TraceIndex& index);

}  // namespace headroom::trace
