// SPDX-License-Identifier: Apache-2.0
// What occurs in files of the wild and is no proper JSON, or no proper trace: made here, since no file that
// the other tests read has it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "headroom/base/error.h"
#include "headroom/trace/readers/read.h"

namespace headroom::trace {
namespace {

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

/// The bad event stands between two good ones: it alone is lost, and located.
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

/// The odd event is read, and one problem says what was odd.
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
  expect_only_bad_lost("17", "no event");
}

TEST(ReaderFaults, ReadsWhatCanOnlyBeMeantInOneWay) {
  const Trace quotes = expect_read_with_problem(kernel(R"(f("x") of "y")"), "quote that is not escaped");
  EXPECT_EQ(names_of(quotes), "a f(\"x\") of \"y\" c ");
  const Trace control = expect_read_with_problem(kernel("b\tb\x01"), "control character");
  EXPECT_EQ(names_of(control), "a b\tb\x01 c ");
  const Trace bytes = expect_read_with_problem(kernel("b\xff\xfe!"), "no UTF-8");
  EXPECT_EQ(names_of(bytes), "a b\xEF\xBF\xBD\xEF\xBF\xBD! c ");
  const Trace escape = expect_read_with_problem(kernel(R"(b\q\ud800\u00e9)"), "bad escape");
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
  // An operator that nobody asks for, each time with another bracket missing, wrong, or too many.
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
  EXPECT_EQ(trace.gpu[0].device, -1);
  EXPECT_EQ(trace.gpu[0].stream, -1);
  EXPECT_EQ(trace.gpu[0].blocks_per_sm, -1);
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
  expect_error("hello", "no Chrome trace");
}

}  // namespace
}  // namespace headroom::trace
