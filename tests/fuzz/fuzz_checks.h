// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "../unit/memory_file.h"
#include "headroom_trace/columns/trace.h"

namespace headroom::trace {

/// Aborts unless `is_true`; libFuzzer reports the abort.
inline void expect(bool is_true, std::string_view what) {
  if (is_true) return;
  fmt::print(stderr, "fuzz: {}\n", what);
  std::abort();
}

inline void expect_counted_once(const Trace& trace) {
  expect(trace.events_seen == trace.events.size() + trace.memory.size() + trace.flows.size() +
                                  trace.events_without_columns + trace.events_skipped_by_need +
                                  trace.problems.events_skipped,
         "an event was not counted once");
}

inline void expect_same_events(const Trace& a, const Trace& b) {
  expect(a.events.start_ns == b.events.start_ns, "other starts");
  expect(a.events.duration_ns == b.events.duration_ns, "other durations");
  expect(a.events.category == b.events.category, "other categories");
  expect(a.events.correlation == b.events.correlation, "other correlations");
  expect(a.gpu.size() == b.gpu.size() && a.ops.size() == b.ops.size() && a.memory.size() == b.memory.size() &&
             a.flows.size() == b.flows.size() && a.syncs.size() == b.syncs.size(),
         "other details");
  for (std::size_t i = 0; i < a.events.size(); ++i)
    expect(a.names[a.events.name[i]] == b.names[b.events.name[i]], "other names");
}

using test::MemoryFile;

}  // namespace headroom::trace
