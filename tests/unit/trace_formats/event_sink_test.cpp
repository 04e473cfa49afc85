// SPDX-License-Identifier: Apache-2.0
#include "headroom_trace/readers/event_sink.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include "format_files.h"

namespace headroom::trace::readers {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kHardName = "a\"b\\n\n\x01 \u00e9";

EventArguments kernel_arguments() {
  EventArguments arguments;
  arguments.add(Argument::kGrid, {66, -2, std::numeric_limits<std::int64_t>::min()});
  arguments.add("correlation", "77"sv);
  arguments.add(Argument::kDevice, 1);
  arguments.add(Argument::kBandwidth, std::nan(""));
  arguments.add("my \"own\"", 2.5);
  arguments.add_json("list", "[ 1, .5 ]");
  return arguments;
}

TEST(EventSink, TypedArgumentsFillColumns) {
  Trace trace;
  const ReadOptions options;
  const auto sink = column_sink(trace, options);
  const EventArguments arguments = kernel_arguments();
  sink->add({.category = Category::kKernel,
             .name = kHardName,
             .place = {"1", "7"},
             .start_ns = 1500,
             .duration_ns = 250,
             .arguments = arguments});
  sink->name_thread({"1", "7"}, "stream \\7");
  sink->finish(10);
  ASSERT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.names[trace.events.name[0]], kHardName);
  EXPECT_EQ(trace.events.correlation[0], 77);
  EXPECT_EQ(trace.threads[trace.events.thread[0]].thread_name, "stream \\7");
  const GpuDetail& work = trace.gpu[0];
  EXPECT_EQ(std::tuple(work.device, work.bandwidth_gb_s, work.grid[0], work.grid[1], work.grid[2]),
            std::tuple(1, -1, 66U, 2U, 0U));
  EXPECT_EQ(trace.problems.count, 0U);
  expect_sound(trace);
}

TEST(EventSink, TheSameAsJson) {
  Trace trace;
  std::string json;
  const RewriteSink out{[&](std::string_view events) { json += events; }, {}};
  const ReadOptions options;
  const auto sink = chrome_json_sink(trace, options, out);
  const EventArguments arguments = kernel_arguments();
  sink->add({.category = Category::kKernel,
             .name = kHardName,
             .place = {"1", "x"},
             .start_ns = 1500,
             .duration_ns = 250,
             .arguments = arguments});
  sink->finish(10);
  const std::string expected =
      R"x({"ph":"X","ts":1.500,"dur":0.250,"cat":"kernel","name":"a\"b\\n\n\u0001 é",)x"
      R"x("pid":1,"tid":"x","args":{"grid":[66,-2,-9223372036854775808],"correlation":"77","device":1,)x"
      R"x("memory bandwidth (GB/s)":null,"my \"own\"":2.5,"list":[1,0.5]}},)x";
  EXPECT_EQ(json, expected + "\n");
}

TEST(EventSink, StepsOfJaxAreWrittenAsThoseOfPyTorch) {
  Trace trace;
  std::string json;
  const RewriteSink out{[&](std::string_view events) { json += events; }, {}};
  const ReadOptions options;
  const auto sink = chrome_json_sink(trace, options, out);
  const EventArguments none;
  for (const std::string_view name : {"step_num#7", "my step_num#7"}) {
    sink->add({.category = Category::kUserAnnotation, .name = name, .place = {"1", "1"}, .arguments = none});
  }
  sink->finish(10);
  EXPECT_NE(json.find(R"("name":"ProfilerStep#7")"), json.npos) << json;
  EXPECT_NE(json.find(R"("name":"my step_num#7")"), json.npos) << json;
}

TEST(EventSink, WhatCannotBeIsReported) {
  Trace trace;
  const ReadOptions options;
  const auto sink = column_sink(trace, options);
  const EventArguments none;
  sink->add({.name = "late", .place = {"1", "1"}, .start_ns = kMaxNs + 1, .arguments = none});
  sink->add({.name = "short", .place = {"1", "1"}, .duration_ns = -1, .arguments = none});
  sink->add({.name = "\xff", .place = {"1", "1"}, .arguments = none});
  sink->finish(10);
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.events.duration_ns[0], 0);
  EXPECT_EQ(trace.names[trace.events.name[1]], "\uFFFD");
  EXPECT_EQ(std::tuple(trace.problems.count, trace.problems.events_skipped), std::tuple(3U, 1U));
  expect_sound(trace);
}

}  // namespace
}  // namespace headroom::trace::readers
