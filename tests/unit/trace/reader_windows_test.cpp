// SPDX-License-Identifier: Apache-2.0
// Files are read in windows, by several threads, each guessing that its window begins between two events.
// What comes out must not depend on where they were cut, nor on who read them.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {
namespace {

using ::testing::HasSubstr;

std::string kernel_json(const std::string& name, int ts) {
  return R"({"ph": "X", "cat": "kernel_json", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" +
         std::to_string(ts) + R"(, "dur": 1, "args": {"device": 0, "stream": 7, "grid": [1, 2, 3]}})";
}

std::string joined(const std::vector<std::string>& events, const char* between = ",\n") {
  std::string text;
  for (const std::string& event : events) text += (text.empty() ? "" : between) + event;
  return text;
}

std::vector<std::string> kernels(int from, int to) {
  std::vector<std::string> events;
  for (int i = from; i < to; ++i) events.push_back(kernel_json("k" + std::to_string(i % 17), i));
  return events;
}

/// Text that looks as if events began and ended in it.
std::string deceptive(int ts) {
  return R"({"ph": "X", "cat": "cpu_op", "name": "}, {\"ph\": \"X\", \"ts\": 9}]}", "ts": )" +
         std::to_string(ts) +
         R"(, "dur": 2, "args": {"list": [{"ph": "X", "name": "inner"}, {"ts": 1}, {"cat": "kernel_json"}]}})";
}

std::string all_of(const Trace& trace) {
  std::string text = trace.is_complete ? "complete\n" : "cut off\n";
  text += std::to_string(trace.events_seen) + " " + std::to_string(trace.json_bytes) + "\n";
  for (std::size_t i = 0; i < trace.events.size(); ++i) {
    text += std::string(trace.names[trace.events.name[i]]) + " " + std::to_string(trace.events.start_ns[i]) +
            " " + std::to_string(trace.events.duration_ns[i]) + " " +
            std::to_string(static_cast<int>(trace.events.category[i])) + " " +
            trace.threads[trace.events.thread[i]].tid + "\n";
  }
  text += std::to_string(trace.problems.count) + " " + std::to_string(trace.problems.events_skipped) + "\n";
  for (const Problem& problem : trace.problems.first) {
    text += std::to_string(problem.offset) + ": " + problem.what + "\n";
  }
  return text;
}

Trace read_in(const std::string& text, std::size_t window_bytes, int threads) {
  ReadOptions options;
  options.window_bytes = window_bytes;
  options.threads = threads;
  return read_text(text, "test.json", options);
}

void expect_the_same_in_all_windows(const std::string& text) {
  const std::string expected = all_of(read_in(text, std::size_t{1} << 20, 1));
  for (const std::size_t window : {64, 100, 151, 333, 1000, 4096}) {
    for (const int threads : {1, 2, 5}) {
      ASSERT_EQ(all_of(read_in(text, window, threads)), expected)
          << window << " bytes, " << threads << " threads of\n"
          << text;
    }
  }
}

TEST(ReaderWindows, WholeFiles) {
  const std::string list = joined(kernels(0, 100));
  expect_the_same_in_all_windows("[" + list + "]");
  expect_the_same_in_all_windows("[" + joined(kernels(0, 100), " , ") + "]  \n");
  expect_the_same_in_all_windows("{\"schemaVersion\": 1, \"traceEvents\": [" + list +
                                 "], \"traceName\": \"a\"}");
  expect_the_same_in_all_windows("{\"traceEvents\": [" + list +
                                 "], \"distributedInfo\": {\"rank\": 3}, \"baseTimeNanoseconds\": 7}");
}

TEST(ReaderWindows, EventsThatLookLikeSeveral) {
  std::vector<std::string> events = kernels(0, 20);
  for (int i = 0; i < 20; ++i) events.insert(events.begin() + 2 * i, deceptive(1000 + i));
  expect_the_same_in_all_windows("[" + joined(events) + "]");
  EXPECT_EQ(read_in("[" + joined(events) + "]", 64, 3).events.size(), 40U);
}

TEST(ReaderWindows, EventsLongerThanAWindow) {
  std::vector<std::string> events = kernels(0, 6);
  events.insert(events.begin() + 3, kernel_json(std::string(5000, 'x'), 50));
  events.push_back(deceptive(70) + "," + kernel_json(std::string(700, 'y') + "},{\\\"ph\\\":", 60));
  const std::string text = "[" + joined(events) + "]";
  expect_the_same_in_all_windows(text);
  EXPECT_EQ(read_in(text, 64, 2).events.size(), 9U);
}

TEST(ReaderWindows, EventsThatCannotBeRead) {
  std::vector<std::string> events = kernels(0, 40);
  std::ptrdiff_t at = 2;  // apart: what follows a broken event up to the next one is taken for a part of it
  for (const char* bad : {R"({"ph": "X", "name": "no time"})", R"({"ph": "X", "ts": 1 "dur": 2})", "17",
                          R"({"ph": "X", "args": {"x": [1, 2}, "ts": 1})"}) {
    events.insert(events.begin() + at, bad);
    events.insert(events.end() - at, bad);
    at += 5;
  }
  const std::string text = "[" + joined(events) + "]";
  expect_the_same_in_all_windows(text);
  const Trace trace = read_in(text, 64, 2);
  EXPECT_EQ(trace.events.size(), 40U);
  EXPECT_EQ(trace.problems.events_skipped, 8U);
}

TEST(ReaderWindows, FilesThatEndTooEarly) {
  const std::string whole = "[" + joined(kernels(0, 12));
  for (std::size_t size = 1; size < whole.size(); size += 13)
    expect_the_same_in_all_windows(whole.substr(0, size));
}

TEST(ReaderWindows, ListThatWasClosedTooEarly) {
  expect_the_same_in_all_windows("{\"traceEvents\": [" + joined(kernels(0, 30)) + "]}, " +
                                 joined(kernels(30, 60)) + "]}");
}

TEST(ReaderWindows, CancellingEndsTheReading) {
  const std::string text = "[" + joined(kernels(0, 2000)) + "]";
  for (const int threads : {1, 4}) {
    ReadOptions options;
    options.window_bytes = 256;
    options.threads = threads;
    options.is_cancelled = [] { return true; };
    try {
      read_text(text, "long.json", options);
      ADD_FAILURE() << "read to its end with " << threads << " threads";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("interrupted"));
    }
  }
}

TEST(ReaderWindows, ProgressOnlyGrows) {
  const std::string text = "[" + joined(kernels(0, 500)) + "]";
  ReadOptions options;
  options.window_bytes = 256;
  options.threads = 1;
  std::vector<std::uint64_t> done;
  options.progress = [&done, &text](std::uint64_t now, std::uint64_t size) {
    EXPECT_EQ(size, text.size());
    done.push_back(now);
  };
  read_text(text, "test.json", options);
  EXPECT_GT(done.size(), 100U);
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(done.back(), text.size() * 9 / 10);
}

}  // namespace
}  // namespace headroom::trace
