// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <random>

#include "analysis_run.h"
#include "headroom/base/files.h"
#include "headroom/base/json.h"
#include "headroom_trace/json/json_scan.h"
#include "headroom_trace/json/strict_json.h"
#include "headroom_trace/json/structural_walk.h"
#include "headroom_trace/readers/convert.h"
#include "headroom_trace/readers/read.h"
#include "headroom_trace/work/trace_checks.h"

namespace headroom::trace {
namespace {

namespace fs = std::filesystem;

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
  EXPECT_EQ(cleaned("[\"a\tb\"]"), R"(["a\tb"])");
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

void launched_kernel(TraceBuilder& builder, std::int64_t correlation, std::int64_t at) {
  builder.launch(at, 5, "gemm", at + 10, 20, correlation);
}

std::map<std::string, TraceCheck> failed(const Trace& trace) {
  std::map<std::string, TraceCheck> found;
  for (const TraceCheck& check : trace_checks(trace)) {
    if (check.count > 0) found[check.what] = check;
  }
  return found;
}

using TraceChecks = BuiltTrace;

TEST_F(TraceChecks, AWholeTracePassesAll) {
  builder.op("aten::mm", 0, 100);
  launched_kernel(builder, 1, 10);
  launched_kernel(builder, 2, 50);
  EXPECT_THAT(failed(builder.trace), IsEmpty());
  EXPECT_THAT(failed(Trace()), IsEmpty());
}

TEST_F(TraceChecks, FindEventsThatDoNotNest) {
  builder.op("outer", 0, 100);
  builder.op("inner", 90, 30);
  builder.op("elsewhere", 50, 300, -1, "2");
  const auto found = failed(builder.trace);
  ASSERT_EQ(found.size(), 1U);
  const TraceCheck& check = found.at("CPU events that overlap without nesting");
  EXPECT_EQ(std::tuple(check.count, check.of, check.largest_ns, check.example), std::tuple(1U, 3U, 20, 1U));
}

TEST_F(TraceChecks, FindWorkThatOverlapsOnAStreamOrIsThereTwice) {
  launched_kernel(builder, 1, 0);
  builder.kernel("gemm", 10, 20, 1);
  const auto found = failed(builder.trace);
  EXPECT_EQ(found.at("GPU work that overlaps on its stream").largest_ns, 20);
  EXPECT_EQ(found.at("duplicate GPU work").count, 1U);
  EXPECT_EQ(found.size(), 2U);
}

TEST_F(TraceChecks, KernelsThatStartEarlyAreNoAnomaly) {
  for (int i = 0; i < 3; ++i) {
    builder.runtime("cudaLaunchKernelExC", 10 * i, 5, i + 1);
    builder.kernel("gemv", 100 + 50 * i, 60, i + 1);
  }
  const auto found = failed(builder.trace);
  ASSERT_EQ(found.size(), 1U);
  const TraceCheck& early = found.at("kernels that start before the one ahead of them ends");
  EXPECT_EQ(std::tuple(early.count, early.largest_ns, early.is_anomaly), std::tuple(2U, 10, false));
}

TEST_F(TraceChecks, AKernelWithinAnotherIsOne) {
  TraceBuilder within;
  launched_kernel(within, 1, 0);
  within.launch(6, 2, "scale", 15, 5, 2);
  EXPECT_EQ(failed(within.trace).at("GPU work that overlaps on its stream").largest_ns, 15);
}

TEST_F(TraceChecks, ParallelStreamsAreNoOverlap) {
  launched_kernel(builder, 1, 0);
  builder.launch(6, 3, "gemm", 10, 20, 2, 0, 8);
  EXPECT_THAT(failed(builder.trace), IsEmpty());
}

TEST_F(TraceChecks, FindMissingPartnersOfLaunches) {
  launched_kernel(builder, 1, 0);
  builder.kernel("orphan", 100, 5, 7);
  builder.kernel("stranger", 200, 5);
  builder.runtime("cudaLaunchKernel", 300, 5, 9);
  builder.runtime("cudaStreamSynchronize", 310, 5, 10);
  const auto found = failed(builder.trace);
  EXPECT_EQ(found.size(), 3U);
  EXPECT_EQ(found.at("GPU work without a correlation").count, 1U);
  EXPECT_EQ(found.at("GPU work without a recorded launch").count, 1U);
  EXPECT_FALSE(found.at("GPU work without a recorded launch").is_anomaly);
  EXPECT_EQ(found.at("launches without GPU work").of, 2U);
}

TEST_F(TraceChecks, FindClocksThatDisagree) {
  builder.launch(1000, 5, "early", 900, 20, 1);
  EXPECT_EQ(failed(builder.trace).at("GPU work that starts before its launch").largest_ns, 100);
}

TEST_F(TraceChecks, FindTimesOfAnotherClock) {
  const std::int64_t epoch = 1'623'143'089'861'123'457;
  for (int i = 0; i < 20; ++i) launched_kernel(builder, i, epoch + 100 * i);
  builder.op("lost", 5, 10);
  const TraceCheck check = failed(builder.trace).at("events far from all others");
  EXPECT_EQ(check.count, 1U);
  EXPECT_GT(check.largest_ns, epoch / 2);
}

TEST_F(TraceChecks, FindArrowsWithOneEndByIdAndKind) {
  const NameId kind = builder.trace.names.intern("ac2g"), other = builder.trace.names.intern("fwdbwd");
  builder.trace.flows = {{0, 1, 0, kind, true}, {5, 1, 0, kind, false}, {6, 1, 0, other, true}};
  const TraceCheck check = failed(builder.trace).at("flow events with one end");
  EXPECT_EQ(std::tuple(check.count, check.of), std::tuple(1U, 2U));
}

using Validate = BuiltTrace;

TEST_F(Validate, CountsWhatIsBrokenAndSaysWhere) {
  launched_kernel(builder, 1, 0);
  builder.trace.problems = {30, 4, {{17, "ts is not a number: 'abc'"}}};
  builder.trace.is_complete = false;
  const Analysis* validate = find_analysis("validate");
  ASSERT_NE(validate, nullptr);
  const AnalysisResult result = validate->analyze(TraceIndex(builder.trace), {});
  EXPECT_EQ(result.tables.at(0).key, "problems");
  EXPECT_THAT(result.tables[0].rows,
              ElementsAre(ElementsAre(Cell{std::int64_t{17}}, Cell{"ts is not a number: 'abc'"})));
  ASSERT_EQ(result.headlines.size(), 3U);
  EXPECT_EQ(result.headlines[0].value, 31);
  EXPECT_EQ(result.headlines[1].value, 4);
  EXPECT_EQ(result.headlines[2].value, 0);
  EXPECT_THAT(result.notes, Contains(HasSubstr("truncated")));
  EXPECT_THAT(result.notes, Contains(HasSubstr("30 problems in all")));
}

TEST_F(Validate, NotesAreNoAnomalies) {
  builder.runtime("cudaLaunchKernel", 300, 5, 9);
  const AnalysisResult result = find_analysis("validate")->analyze(TraceIndex(builder.trace), {});
  EXPECT_EQ(result.headlines.at(2).value, 0);
  EXPECT_THAT(result.notes, Contains(HasSubstr("launches without GPU work")));
  EXPECT_THAT(result.notes, Contains("no GPU work in the file"));
}

}  // namespace
}  // namespace headroom::trace

namespace headroom::trace::readers {
namespace {

std::optional<JsonSyntax::Fault> fault_of(const std::string& text) {
  JsonSyntax whole, bytes;
  whole.take(text);
  for (const char c : text) bytes.take({&c, 1});
  const auto& found = whole.fault();
  EXPECT_EQ(found.has_value(), bytes.fault().has_value()) << text;
  if (found && bytes.fault()) {
    EXPECT_EQ(found->offset, bytes.fault()->offset) << text;
  }
  return found;
}

TEST(JsonSyntax, TakesJson) {
  for (const char* text : {"{}", "[]", " [1, -0, 0.5, 1e9, 1E+2, -1.25e-3, 0e0, true, false, null] \n",
                           R"({"a": {"b": [{}, []]}, "": ""})", R"("\"\\\/\b\f\n\r\t\u00e9\ud800")",
                           "\"\u00b5 \u20ac \U0001F600\"", "17", "[\"\x7f\"]"}) {
    const auto fault = fault_of(text);
    EXPECT_FALSE(fault.has_value()) << text << ": " << (fault ? fault->what : "");
  }
}

TEST(JsonSyntax, SaysWhereAndWhatIsNone) {
  const struct {
    std::string text;
    std::uint64_t offset;
    const char* what;
  } kCases[] = {{"[1,]", 3, "comma before a closing bracket"},
                {"{\"a\": 1,}", 8, "comma before a closing bracket"},
                {"[1,,2]", 3, "comma where a value"},
                {"[1 2]", 3, "no comma after a value"},
                {"[1}", 2, "do not match"},
                {"{\"a\" 1}", 5, "without a colon"},
                {"{a: 1}", 1, "without quotes"},
                {"[NaN]", 1, "NaN"},
                {"[-Infinity]", 2, "Infinity"},
                {"[01]", 2, "starts with 0"},
                {"[1.]", 3, "number"},
                {"[.5]", 1, "invalid value"},
                {"[+1]", 1, "invalid value"},
                {"[1e]", 3, "number"},
                {"['a']", 1, "invalid value"},
                {"[tru]", 4, "invalid value"},
                {"[\"\\q\"]", 3, "escape"},
                {"[\"\\u12g4\"]", 6, "escape"},
                {"[\"a\tb\"]", 3, "control character"},
                {"[\"\xff\"]", 2, "UTF-8"},
                {"[\"\xc3(\"]", 3, "UTF-8"},
                {"[\"\xed\xa0\x80\"]", 3, "UTF-8"},
                {"[] []", 3, "after the end"},
                {"{}]", 2, "after the end"}};
  for (const auto& [text, offset, what] : kCases) {
    const auto fault = fault_of(text);
    ASSERT_TRUE(fault.has_value()) << text;
    EXPECT_EQ(fault->offset, offset) << text;
    EXPECT_THAT(fault->what, HasSubstr(what)) << text;
  }
}

TEST(JsonSyntax, IsAProblemOfTheTraceWhereAsked) {
  const std::string text =
      R"({"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "ts": 1, "dur": 1},]})";
  EXPECT_EQ(read_text(text, "test.json").problems.count, 0U);
  for (const std::size_t window : {64U, 1U << 19U}) {
    ReadOptions options;
    options.needs = Needs::kAll | Needs::kSyntax;
    options.window_bytes = window;
    const Trace trace = read_text(text, "test.json", options);
    EXPECT_EQ(trace.events.size(), 1U);
    EXPECT_EQ(trace.problems.events_skipped, 0U);
    ASSERT_EQ(trace.problems.first.size(), 1U);
    EXPECT_EQ(trace.problems.first[0].offset, text.find(']'));
    EXPECT_THAT(trace.problems.first[0].what, HasSubstr("invalid JSON: a comma"));
  }
}

/// Half of them continue valid JSON: some texts are valid and deep.
std::string any_tokens(std::mt19937& random) {
  constexpr std::string_view kAny = "[]{}:,1", kOpeners = "[{";
  std::string text, open = "{";
  for (auto left = random() % 40; left > 0 && !open.empty(); --left) {
    const auto way = random() % 16;
    if (way == 0) {
      text += kAny[random() % kAny.size()];
    } else if (way < 7) {
      text += open.back() == '{' ? "1:" : "";
      text += kOpeners[random() % kOpeners.size()];
      open += text.back();
      continue;
    } else if (way < 10) {
      text += open.back() == '{' ? "1:1" : "1";
    }
    text += way % 2 == 0 ? "," : open.back() == '{' ? "}" : "]";
    if (text.back() != ',') open.pop_back();
  }
  while (!open.empty() && random() % 8 != 0) {
    text += open.back() == '{' ? '}' : ']';
    open.pop_back();
  }
  return text + "1";
}

TEST(StructuralWalk, PastTheCloseByStatesIsWhereEveryBracketWasLookedAt) {
  std::mt19937 random(5);
  std::size_t closed = 0, broken = 0;
  for (int round = 0; round < 50'000; ++round) {
    std::string text = any_tokens(random);
    std::vector<std::uint32_t> tokens(text.size() + 2);
    std::iota(tokens.begin(), tokens.end(), 0U);
    tokens.back() = tokens[text.size()];
    const Walk walk{text.c_str(), tokens.data()};
    for (const bool is_object : {false, true}) {
      for (const Role before : {kValue, kComma, Role{kOpens | kStartsValue}}) {
        const Walk expected = past_any_close(walk, is_object, before);
        ASSERT_EQ(past_close(walk, is_object, before).at, expected.at) << text << is_object << int{before};
        ++(expected.at == nullptr ? broken : closed);
      }
    }
  }
  EXPECT_GT(closed, 50'000U);
  EXPECT_GT(broken, 50'000U);
}

}  // namespace
}  // namespace headroom::trace::readers
