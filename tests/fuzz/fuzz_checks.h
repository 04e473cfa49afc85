// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

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

class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : file_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    expect(file_ >= 0 && ::write(file_, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()),
           "no file in memory");
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", file_); }

 private:
  int file_;
};

}  // namespace headroom::trace
