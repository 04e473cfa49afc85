// SPDX-License-Identifier: Apache-2.0
// Malformed traces found in practice; results must not depend on cuts of windows or threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "headroom/base/error.h"
#include "headroom_trace/readers/read.h"

namespace headroom::trace {
namespace {

using testing::HasSubstr;

std::string kernel(const std::string& name, const std::string& ts = "1", const std::string& more = "") {
  return R"({"ph": "X", "cat": "kernel", "name": ")" + name + R"(", "pid": 0, "tid": 7, "ts": )" + ts +
         R"(, "dur": 1)" + more + "}";
}

Trace read_list(const std::string& events) {
  return read_text("[" + events + "]", "test.json");
}

std::string names_of(const Trace& trace) {
  std::string names;
  for (const NameId name : trace.events.name) names += std::string(trace.names[name]) + " ";
  return names;
}

void expect_only_bad_lost(const std::string& bad, const std::string& what) {
  const std::string before = kernel("a") + ",\n";
  const Trace trace = read_list(before + bad + ",\n" + kernel("c"));
  EXPECT_EQ(names_of(trace), "a c ") << bad;
  EXPECT_EQ(trace.events_seen, 3U) << bad;
  EXPECT_EQ(trace.problems.events_skipped, 1U) << bad;
  ASSERT_EQ(trace.problems.first.size(), trace.problems.count) << bad;
  ASSERT_GE(trace.problems.count, 1U) << bad;
  EXPECT_EQ(trace.problems.first[0].offset, 1 + before.size()) << bad;
  EXPECT_THAT(trace.problems.first[0].what, testing::HasSubstr(what)) << bad;
}

Trace expect_read_with_problem(const std::string& odd, const std::string& what) {
  Trace trace = read_list(kernel("a") + "," + odd + "," + kernel("c"));
  EXPECT_EQ(trace.events.size(), 3U) << odd;
  EXPECT_EQ(trace.problems.count, 1U) << odd;
  EXPECT_EQ(trace.problems.events_skipped, 0U) << odd;
  if (!trace.problems.first.empty()) {
    EXPECT_EQ(trace.problems.first[0].offset, 2 + kernel("a").size()) << odd;
    EXPECT_THAT(trace.problems.first[0].what, testing::HasSubstr(what)) << odd;
  }
  return trace;
}

TEST(ReaderFaults, LosesOnlyTheEventThatCannotBeRead) {
  expect_only_bad_lost(kernel("b", "NaN"), "ts is not a number: 'NaN'");
  expect_only_bad_lost(kernel("b", "Infinity"), "ts is not a number");
  expect_only_bad_lost(kernel("b", "\"abc\""), "ts is not a number: 'abc'");
  expect_only_bad_lost(kernel("b", "99999999999999999999"), "ts is out of range");
  expect_only_bad_lost(kernel("b", "-1e400"), "ts is out of range");
  expect_only_bad_lost(kernel("b", "1e"), "ts is not a number");
  expect_only_bad_lost(R"({"ph": "X", "cat": "kernel", "name": "b", "dur": 1})", "without a time");
  expect_only_bad_lost(R"({"cat": "kernel", "name": "b", "ts": 1, "dur": 1})", "without a phase");
  expect_only_bad_lost(R"({"ph": "?", "cat": "kernel", "name": "b", "ts": 1, "dur": 1})", "unknown phase");
  expect_only_bad_lost(R"({"ph": "X", "cat": "kernel", "name": "b)", "cannot be read");
  expect_only_bad_lost(R"({"ph": "X", "cat": "kernel, "name": "b", "ts": 1, "dur": 1})", "cannot be read");
  expect_only_bad_lost(R"({"ph": "X", "args": {"x": [1, 2}, "ts": 1, "dur": 1})",
                       "brackets that do not match");
  expect_only_bad_lost(R"({"ph": "X", "args": {"x": 1, "ts": 1, "dur": 1)", "cannot be read");
  expect_only_bad_lost(R"({"ph": "X", "ts": 1 "dur": 1})", "no comma after a value");
  expect_only_bad_lost(R"("ph": "X", "ts": 1, "dur": 1})", "not an event");
  expect_only_bad_lost("17", "not an event");
}

TEST(ReaderFaults, ReadsWhatCanOnlyBeMeantInOneWay) {
  const Trace quotes = expect_read_with_problem(kernel(R"(f("x") of "y")"), "unescaped quote");
  EXPECT_EQ(names_of(quotes), "a f(\"x\") of \"y\" c ");
  const Trace control = expect_read_with_problem(kernel("b\tb\x01"), "control character");
  EXPECT_EQ(names_of(control), "a b\tb\x01 c ");
  const Trace bytes = expect_read_with_problem(kernel("b\xff\xfe!"), "invalid UTF-8");
  EXPECT_EQ(names_of(bytes), "a b\xEF\xBF\xBD\xEF\xBF\xBD! c ");
  const Trace escape = expect_read_with_problem(kernel(R"(b\q\ud800\u00e9)"), "invalid escape");
  EXPECT_EQ(names_of(escape), "a b\\q\\ud800\xC3\xA9 c ");
  expect_read_with_problem(R"({"ph": "X", "cat": "kernel", "name": "b", "ts": 1})", "without a duration");
  const Trace negative = expect_read_with_problem(
      R"({"ph": "X", "cat": "kernel", "name": "b", "ts": 1, "dur": -2})", "negative");
  EXPECT_EQ(negative.events.duration_ns[1], 0);
  expect_read_with_problem(R"({"ph": "X", "cat": "kernel", "name": "b", "ts": 1, "dur": NaN})",
                           "dur is not a number");
  expect_read_with_problem(R"({"ph": "X", "cat": "kernel", "name": "b", "ts": 1, "dur": 1e30})",
                           "dur is out of range");
}

TEST(ReaderFaults, WhatIsSkippedByNeedLosesNoOtherEvent) {
  for (const char* bad : {R"({"ph": "X", "cat": "cpu_op", "ts": 1, "args": {"x": 1})",
                          R"({"ph": "X", "cat": "cpu_op", "ts": 1, "args": {"x": [1, 2}})",
                          R"({"ph": "X", "cat": "cpu_op", "ts": 1, "args": {"x": {"y": 1}})",
                          R"({"ph": "X", "cat": "cpu_op", "ts": 1, "sf": "7")",
                          R"({"ph": "X", "cat": "cpu_op", "ts": 1, "args": ["x": 1}})"}) {
    ReadOptions options;
    options.needs = Needs::kGpuWork;
    std::string text = "{\"traceEvents\": [" + kernel("a") + "," + bad;
    for (const char* name : {"b", "c", "d"}) text += "," + kernel(name);
    const Trace trace = read_text(text + "], \"x\": 1}", "test.json", options);
    EXPECT_EQ(names_of(trace), "a b c d ") << bad;
    EXPECT_EQ(trace.events_seen, 5U) << bad;
    EXPECT_EQ(trace.events_skipped_by_need + trace.problems.events_skipped, 1U) << bad;
  }
}

TEST(ReaderFaults, DeepArgumentsAreNoFault) {
  for (const int depth : {10, 63, 64, 65, 500}) {
    std::string deep;
    for (int i = 0; i < depth; ++i) deep += i % 2 == 0 ? "[" : "{\"x\": ";
    deep += "1";
    for (int i = depth; i-- > 0;) deep += i % 2 == 0 ? "]" : "}";
    const Trace trace = read_list(kernel("a", "1", ", \"args\": {\"x\": " + deep + "}") + "," + kernel("b"));
    EXPECT_EQ(names_of(trace), "a b ") << depth;
    EXPECT_EQ(trace.problems.count, 0U) << depth;
  }
}

TEST(ReaderFaults, OfTwoPhasesTheFirstCounts) {
  const char* const rest = R"("name": "b", "pid": 0, "tid": 7, "ts": 1, "dur": 1, )";
  EXPECT_EQ(read_list(std::string(R"({"ph": "X", )") + rest + R"("ph": "C"})").events.size(), 1U);
  const Trace counter = read_list(std::string(R"({"ph": "C", )") + rest + R"("ph": "X"})");
  EXPECT_EQ(counter.events_without_columns, 1U);
  EXPECT_EQ(counter.events.size(), 0U);
}

TEST(ReaderFaults, ArgumentsThatAreNoNumbersAreAbsent) {
  const Trace trace = read_list(kernel(
      "b", "1",
      R"(, "args": {"device": NaN, "stream": "x", "blocks per SM": Infinity, "correlation": -Infinity})"));
  ASSERT_EQ(trace.gpu.size(), 1U);
  EXPECT_EQ(std::tuple(trace.gpu[0].device, trace.gpu[0].stream, trace.gpu[0].blocks_per_sm),
            std::tuple(-1, -1, -1));
  EXPECT_EQ(trace.events.correlation[0], kNoCorrelation);
}

TEST(ReaderFaults, IdentifiersAboveInt64StayDistinct) {
  const Trace trace = read_list(kernel("a", "1", R"(, "args": {"correlation": 18446744073709551614})") + "," +
                                kernel("b", "1", R"(, "args": {"correlation": 9223372036854775808})"));
  EXPECT_EQ(trace.events.correlation[0], -2);
  EXPECT_EQ(trace.events.correlation[1], std::numeric_limits<std::int64_t>::min());
}

TEST(ReaderFaults, TrailingAndMissingCommas) {
  EXPECT_EQ(names_of(read_list(kernel("a") + ",,\n" + kernel("b", "1", R"(, "args": {"x": [1,],},)") + ",")),
            "a b ");
  const Trace missing = read_list(kernel("a") + "\n" + kernel("b"));
  EXPECT_EQ(names_of(missing), "a b ");
  EXPECT_EQ(missing.problems.count, 1U);
}

TEST(ReaderFaults, FileThatEndsTooEarly) {
  const std::string whole = "{\"traceEvents\": [" + kernel("a") + ", " + kernel("b");
  for (const char* rest : {"", "]", ",", ", {\"ph\": \"X"}) {
    const Trace trace = read_text(whole + rest, "test.json");
    EXPECT_EQ(names_of(trace), "a b ") << rest;
    EXPECT_FALSE(trace.is_complete) << rest;
  }
  EXPECT_TRUE(read_text(whole + "]}", "test.json").is_complete);
  EXPECT_TRUE(read_text("[]", "test.json").is_complete);
}

TEST(ReaderFaults, EventsAfterTheListSeemedToEnd) {
  const Trace trace = read_text(
      "{\"traceEvents\": [" + kernel("a") + "]}," + kernel("b") + "," + kernel("c") + "]}", "test.json");
  EXPECT_EQ(names_of(trace), "a b c ");
  EXPECT_GE(trace.problems.count, 1U);
}

TEST(ReaderFaults, BeginsAndEndsThatDoNotPair) {
  const Trace trace = read_list(R"({"ph": "B", "name": "a", "pid": 1, "tid": 1, "ts": 1},
    {"ph": "B", "name": "b", "pid": 1, "tid": 2, "ts": 2}, {"ph": "E", "pid": 1, "tid": 1, "ts": 5.5},
    {"ph": "E", "name": "a", "pid": 1, "tid": 1, "ts": 6})");
  EXPECT_EQ(names_of(trace), "a ");
  EXPECT_EQ(trace.events.duration_ns[0], 4500);
  EXPECT_EQ(trace.problems.events_skipped, 2U);
  EXPECT_EQ(trace.problems.first[0].what, "a B event without an E event after it");
  EXPECT_EQ(trace.problems.first[1].what, "an E event without a B event before it");
}

TEST(ReaderFaults, WhatIsNoTraceIsAnError) {
  const auto expect_error = [](const std::string& text, const std::string& what) {
    try {
      read_text(text, "some.json");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("'some.json'"));
      EXPECT_THAT(error.what(), testing::HasSubstr(what));
    }
  };
  expect_error("", "it is empty");
  expect_error(" \n", "it is empty");
  expect_error("{\"benchmarks\": []}", "no list of events");
  expect_error("hello", "not a Chrome trace");
}

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
  std::ptrdiff_t at = 2;  // text after a broken event up to the next belongs to it
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
