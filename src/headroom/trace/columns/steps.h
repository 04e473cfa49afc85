// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/trace/columns/trace.h"

namespace headroom::trace {

/// What the names of the profiler's steps begin with; the number follows.
inline constexpr std::string_view kStepName = "ProfilerStep#";

/// One iteration of the profiler: a ProfilerStep#N annotation.
struct Step {
  std::int64_t number = 0;
  std::string name;
  std::int64_t start_ns = 0, end_ns = 0;
};

/// What tables call it: its number, else its name.
std::string step_text(const Step& step);

/// The ProfilerStep# annotations of the CPU, by start, the last one included. Empty where the file has none:
/// the caller takes the whole trace as one, and says so.
std::vector<Step> steps(const Trace& trace);

/// First start and last end of GPU work; both 0 where there is none.
struct Extent {
  std::int64_t start_ns = 0, end_ns = 0;
  std::int64_t length_ns() const { return end_ns - start_ns; }
};
Extent gpu_extent(const Trace& trace);
Extent whole_extent(const Trace& trace);  ///< of every event

}  // namespace headroom::trace
