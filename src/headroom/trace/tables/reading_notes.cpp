// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/tables/reading_notes.h"

#include <fmt/format.h>

namespace headroom::trace {

std::string no_gpu_work(const Trace& trace) {
  if (trace.events_seen == 0) return "the file holds no events";
  return fmt::format(
      "no kernel, copy or set of a device among {} events: was the profiler told to record the device "
      "(ProfilerActivity.CUDA), and did the work run while it recorded?",
      trace.events_seen);
}

std::string what_is_missing(const Trace& trace) {
  std::string text;
  if (!trace.is_complete)
    text = "the file ends before its JSON does: what came after is not in these figures";
  if (trace.problems.count == 0) return text;
  if (!text.empty()) text += "; ";
  text += fmt::format("{} places of the file could not be read as they stand, {} events of them are left out",
                      trace.problems.count, trace.problems.events_skipped);
  if (!trace.problems.first.empty()) {
    const Problem& first = trace.problems.first.front();
    text += fmt::format(" (the first at byte {}: {})", first.offset, first.what);
  }
  return text;
}

}  // namespace headroom::trace
