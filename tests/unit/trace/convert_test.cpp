// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/convert.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>

#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom/trace/readers/json_repair.h"
#include "headroom/trace/readers/tolerant_scan.h"
#include "trace_builder.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string cleaned(const std::string& value) {
  readers::Structurals tokens;
  readers::scan_value(value, 0, tokens);
  std::string out;
  return readers::append_clean_value({value.data(), tokens.data()}, out).at != nullptr ? out : "(broken)";
}

TEST(JsonRepair, LeavesWhatIsStrict) {
  for (const char* text : {"{}", "[]", "[1,2.5,-3e-7,0,true,false,null]", R"({"a":{"b":[{"c":"d"}]}})",
                           "[18446744073709551616]", R"("\u00b5 \" \\ ")"}) {
    EXPECT_EQ(parse_json(cleaned(text), "cleaned"), parse_json(text, "given")) << text;
  }
  EXPECT_EQ(cleaned("[18446744073709551616, 1.000]"), "[18446744073709551616,1.000]");
}

TEST(JsonRepair, RepairsWhatIsNot) {
  EXPECT_EQ(cleaned("[1, 2, ]"), "[1,2]");
  EXPECT_EQ(cleaned(R"({"a": 1, })"), R"({"a":1})");
  EXPECT_EQ(cleaned("[NaN, Infinity, -inf]"), "[null,null,null]");
  EXPECT_EQ(cleaned("[+5, .5, 01, 1.]"), "[5,0.5,1,1]");
  EXPECT_EQ(cleaned("[word]"), R"(["word"])");
  EXPECT_EQ(cleaned("[\"a\tb\"]"), R"(["a\u0009b"])");
  EXPECT_EQ(cleaned(R"(["bad \q escape"])"), R"(["bad \\q escape"])");
  EXPECT_EQ(cleaned("[\"\xff\"]"), "[\"\xEF\xBF\xBD\"]");
  EXPECT_EQ(cleaned(R"({"name": "say "hi" now", "x": 1})"), R"({"name":"say \"hi\" now","x":1})");
}

TEST(JsonRepair, IsNotRecursive) {
  const std::string deep = std::string(200000, '[') + std::string(200000, ']');
  EXPECT_EQ(cleaned(deep), deep);
}

class Convert : public testing::Test {
 protected:
  Convert() : path_(fs::temp_directory_path() / ("headroom-convert-" + std::to_string(::getpid()))) {}
  ~Convert() override { fs::remove(path_); }

  Json converted(const std::string& text, int threads = 1,
                 std::size_t window_bytes = ReadOptions().window_bytes) {
    write_file_atomically(path_, text);
    std::string out;
    ReadOptions options;
    options.threads = threads;
    options.window_bytes = window_bytes;
    conversion_ = convert_to_chrome_trace(
        path_, [&out](std::string_view piece) { out += piece; }, options);
    return parse_json(out, "converted");
  }

  fs::path path_;
  Conversion conversion_;
};

TEST_F(Convert, OfTwoPhasesTheFirstCounts) {
  EXPECT_EQ(converted(R"([{"ph": "C", "ts": 1, "ph": "X"}])")["traceEvents"],
            parse_json(R"([{"ph": "C", "ts": 1}])", "expected"));
}

TEST_F(Convert, WritesNumbersDurationsAndPhases) {
  const Json trace = converted(R"([
    {"ph": "X", "name": "a", "ts": "1.2345", "dur": "7", "args": {"x": NaN}},
    {"ph": "X", "name": "b", "ts": 5},
    {"ph": "XX", "name": "c", "ts": 6.000, "dur": -4},
    {"ph": "i", "name": "d", "ts": 123456789012345.678}])");
  EXPECT_EQ(trace["traceEvents"],
            parse_json(R"([{"ph": "X", "ts": 1.235, "dur": 7, "name": "a", "args": {"x": null}},
                            {"ph": "X", "ts": 5, "dur": 0, "name": "b"},
                            {"ph": "X", "ts": 6.000, "dur": 0, "name": "c"},
                            {"ph": "i", "ts": 123456789012345.678, "name": "d"}])",
                       "expected"));
  EXPECT_EQ(conversion_.events_written, 4U);
  EXPECT_EQ(conversion_.facts.problems.count, 3U);
}

TEST_F(Convert, TimesThatAreReadAreNumbers) {
  const Json trace = converted("[{\"ph\": \"X\", \"ts\":\v2.5, \"dur\":\v7}]");
  ASSERT_EQ(trace["traceEvents"].size(), 1U);
  EXPECT_EQ(trace["traceEvents"][0]["ts"], 2.5);
  EXPECT_EQ(trace["traceEvents"][0]["dur"], 7);
}

TEST_F(Convert, LeavesOutWhatNoViewerCanPlaceAndCountsIt) {
  const Json trace = converted(R"([{"ph": "X", "ts": "soon", "dur": 1}, {"name": "no phase", "ts": 1},
                                   {"ph": "X", "dur": 1}, 7, {"ph": "M", "name": "process_name"}])");
  ASSERT_EQ(trace["traceEvents"].size(), 1U);
  EXPECT_EQ(trace["traceEvents"][0]["ph"], "M");
  EXPECT_EQ(conversion_.facts.problems.events_skipped, 4U);
  EXPECT_EQ(conversion_.facts.events_seen, 5U);
}

TEST_F(Convert, AnEventThatSaysNothingIsLeftOutAndNoProblem) {
  const Json trace = converted(R"([{"ph": "i", "ts": 1}, {}, { }])");
  EXPECT_EQ(trace["traceEvents"], parse_json(R"([{"ph": "i", "ts": 1}])", "expected"));
  EXPECT_EQ(conversion_.facts.problems.count, 0U);
  EXPECT_EQ(conversion_.facts.events_seen, 3U);
}

TEST_F(Convert, KeepsTheMembersBesideTheEvents) {
  const Json trace = converted(
      R"({"schemaVersion": 1, "otherData": {"a": [1, NaN,]}, "traceEvents": [{"ph": "M"}], "displayTimeUnit": "ms", "schemaVersion": 2})");
  EXPECT_EQ(trace["schemaVersion"], 1);
  EXPECT_EQ(trace["otherData"], parse_json(R"({"a": [1, null]})", "expected"));
  EXPECT_EQ(trace["displayTimeUnit"], "ms");
  EXPECT_EQ(trace["traceEvents"].size(), 1U);
}

TEST_F(Convert, NamesOfMembersAreTextAsAnyOther) {
  const Json trace = converted("{\"a \\\"b\\\" \\u00b5\": 1, \"bad \xff\": 2, \"traceEvents\": []}");
  EXPECT_EQ(trace["a \"b\" \u00b5"], 1);
  EXPECT_EQ(trace["bad \xEF\xBF\xBD"], 2);
}

TEST_F(Convert, EmptyAndCutOffListsAreWhole) {
  EXPECT_EQ(converted("[]")["traceEvents"], Json::array());
  EXPECT_EQ(converted(R"({"traceEvents": [], "a": 1})")["a"], 1);
  EXPECT_EQ(converted(R"({"a": 1, "traceEvents": [{"ph": "M"},)")["traceEvents"].size(), 1U);
  EXPECT_FALSE(conversion_.facts.is_complete);
}

TEST_F(Convert, KeepsTheOrderWithManyThreadsAndWindows) {
  std::string text = "[";
  constexpr int kEvents = 3000;
  for (int i = 0; i < kEvents; ++i) {
    text += (i > 0 ? ",\n" : "") + std::string(R"({"ph": "X", "name": "kernel", "ts": )") +
            std::to_string(i) + R"(, "dur": 1, "args": {"filler": ")" +
            std::string(static_cast<std::size_t>(i % 90), 'x') + "\"}}";
  }
  const Json trace = converted(text + "]", 4, 4096);
  ASSERT_EQ(trace["traceEvents"].size(), static_cast<std::size_t>(kEvents));
  for (int i = 0; i < kEvents; ++i) ASSERT_EQ(trace["traceEvents"][static_cast<std::size_t>(i)]["ts"], i);
}

TEST(EventColumns, HasARowForEachEventWithADuration) {
  TraceBuilder builder;
  GpuDetail& kernel = builder.kernel("gemm<float, 4>", 100, 20, 7);
  kernel.grid[0] = 8;
  kernel.grid[1] = kernel.grid[2] = 1;
  builder.op("aten::mm", 50, 30, 12).sequence = 3;
  std::string out;
  EXPECT_EQ(write_event_columns(builder.trace, [&out](std::string_view piece) { out += piece; }), 2U);
  EXPECT_THAT(out, ::testing::StartsWith("name,category,pid,tid,process_name,thread_name,start_ns,"));
  EXPECT_THAT(out, HasSubstr("\n\"gemm<float, 4>\",kernel,0,7,python,,100,20,7,,0,7,,,8x1x1,"));
  EXPECT_THAT(out, HasSubstr("\naten::mm,cpu_op,1000,1,python,,50,30,,12,,,,,,,,,,,3,"));
}

}  // namespace
}  // namespace headroom::trace
