// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {

inline std::filesystem::path format_path(const std::string& name) {
  return std::filesystem::path(HEADROOM_TEST_DATA) / "trace" / "formats" / name;
}

/// Row of the only event of that name.
inline std::size_t row_of(const Trace& trace, std::string_view name) {
  std::optional<std::size_t> found;
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    if (trace.names[trace.events.name[i]] != name) continue;
    EXPECT_FALSE(found) << name << " is there twice";
    found = i;
  }
  EXPECT_TRUE(found) << name << " is not there";
  return found.value_or(0);
}

/// Category, start, duration and correlation.
using EventRow = std::tuple<Category, std::int64_t, std::int64_t, std::int64_t>;
inline EventRow event_of(const Trace& trace, std::string_view name) {
  const std::size_t row = row_of(trace, name);
  return {trace.events.category[row], trace.events.start_ns[row], trace.events.duration_ns[row],
          trace.events.correlation[row]};
}

inline std::string place_of(const Trace& trace, std::string_view name) {
  const Thread& thread = trace.threads[trace.events.thread[row_of(trace, name)]];
  return thread.pid + "/" + thread.tid;
}

inline const GpuDetail& work_of(const Trace& trace, std::string_view name) {
  return trace.gpu.at(trace.events.detail.at(row_of(trace, name)));
}

inline void expect_sound(const Trace& trace) {
  EXPECT_EQ(trace.events_seen, trace.events.size() + trace.memory.size() + trace.flows.size() +
                                   trace.events_without_columns + trace.events_skipped_by_need +
                                   trace.problems.events_skipped);
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    ASSERT_LT(trace.events.thread[i], trace.threads.size());
    ASSERT_GE(trace.events.duration_ns[i], 0);
    if (is_gpu_work(trace.events.category[i])) {
      ASSERT_LT(trace.events.detail[i], trace.gpu.size());
    }
  }
}

/// Returns false if refused with a message.
inline bool is_read(std::string_view bytes) {
  try {
    ReadOptions options;
    options.threads = 1;
    expect_sound(read_text(bytes, "a trace", options));
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// Cut at every byte and changed randomly.
inline void expect_robust(const std::string& name, int mutations = 4000) {
  const std::string whole = read_file(format_path(name));
  ASSERT_TRUE(is_read(whole));
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t size = 0; size < whole.size(); ++size) is_read(std::string_view(whole).substr(0, size));
  std::mt19937_64 random(7);
  for (int i = 0; i < mutations; ++i) {
    std::string text = whole;
    for (std::uint64_t left = 1 + random() % 3; left > 0; --left) {
      const std::size_t at = random() % text.size();
      const std::size_t size = std::min<std::size_t>(random() % 16, text.size() - at);
      switch (random() % 4) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text[at] = static_cast<char>(text[at] ^ (1 << (random() % 8)));
          break;
        case 2:
          if (text.size() > size + 1) text.erase(at, size);
          break;
        default:
          text.insert(at, text.substr(at, size));
      }
    }
    is_read(text);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 60);
}

}  // namespace headroom::trace
