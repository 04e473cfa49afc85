// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <tuple>

#include "headroom/base/error.h"
#include "headroom/base/text.h"
#include "headroom/tables/width.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/report/file_analysis.h"
#include "headroom_trace/report/trace_diff.h"
#include "headroom_trace/report/trace_report.h"
#include "trace_builder.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using trace::Cell;
using trace::Kind;

std::string shown(Cell cell, Kind kind) {
  return trace_cell_text(cell, kind);
}

TEST(TraceCell, IsShownAsItsKindSays) {
  EXPECT_EQ(shown(std::int64_t{1'250'000}, Kind::kTimeNs), "1.25 ms");
  EXPECT_EQ(shown(-412.0, Kind::kTimeNs), "-412 ns");
  EXPECT_EQ(shown(0.576389, Kind::kShare), "57.6 %");
  EXPECT_EQ(shown(std::int64_t{1}, Kind::kShare), "100 %");
  EXPECT_EQ(shown(std::int64_t{33554432}, Kind::kBytes), "32 MiB");
  EXPECT_EQ(shown(std::int64_t{1234567}, Kind::kCount), "1234567");
  EXPECT_EQ(shown(2.5, Kind::kCount), "2.50");
  EXPECT_EQ(shown(1179.0, Kind::kCount), "1179");
  EXPECT_EQ(shown(12.3, Kind::kGigabytesPerSecond), "12.3 GB/s");
  EXPECT_EQ(shown(1234.0, Kind::kGigabytesPerSecond), "1.23 TB/s");
  EXPECT_EQ(shown(95600.0, Kind::kGigaflopsPerSecond), "95.6 TFLOP/s");
  EXPECT_EQ(shown(std::string("void gemm<float>()"), Kind::kText), "void gemm<float>()");
  EXPECT_EQ(shown(std::int64_t{7}, Kind::kText), "7");
  EXPECT_EQ(shown(1.5, Kind::kNumber), "1.50");
}

TEST(TraceCell, OfNothingIsADash) {
  EXPECT_EQ(shown({}, Kind::kTimeNs), "-");
  EXPECT_EQ(shown(std::numeric_limits<double>::quiet_NaN(), Kind::kShare), "-");
  EXPECT_EQ(shown(std::numeric_limits<double>::infinity(), Kind::kNumber), "-");
}

TEST(TraceCell, InstantsCountFromTheOriginExactly) {
  const TraceTextOptions options{false, false, 1'623'143'089'861'123'457};
  const auto at = [&](std::int64_t ns) { return trace_cell_text(ns, Kind::kInstantNs, options); };
  EXPECT_EQ(at(1'623'143'089'861'123'457), "0.000000000 s");
  EXPECT_EQ(at(1'623'143'091'861'123'458), "2.000000001 s");
  EXPECT_EQ(at(1'623'143'089'861'123'456), "-0.000000001 s");
}

TEST(TraceCell, LongNamesKeepTheirEnds) {
  const std::string name = "void at::native::" + std::string(200, 'x') + "µ(float*, int)";
  const std::string text = shown(name, Kind::kText);
  EXPECT_THAT(text, ::testing::StartsWith("xxx"));
  EXPECT_THAT(text, ::testing::EndsWith("xxxµ"));
  EXPECT_THAT(text, HasSubstr("…"));
  EXPECT_EQ(trace_cell_text(name, Kind::kText, {.full_names = true}), name);
}

TEST(TraceText, LongNamesLoseNamespacesParametersAndFoldersFirst) {
  const auto shortened = [](const std::string& name) { return shortened_names({name}, 40).front(); };
  EXPECT_EQ(
      shortened(
          "void at::native::(anonymous namespace)::add<c10::BFloat16, at::native::Add<float>>(int, float*)"),
      "add<BFloat16, Add<float>>");
  EXPECT_EQ(shortened("void at::add<int>(int)"), "void at::add<int>(int)") << "it fits";
  EXPECT_EQ(shortened("transformers/models/bert/modeling_bert.py(364): forward"),
            "modeling_bert.py(364): forward");
  EXPECT_EQ(shortened("BertLMHeadModel_0 > BertModel_0 > BertEncoder_0 > BertLayer_0"),
            "… > BertEncoder_0 > BertLayer_0");
  EXPECT_EQ(shortened("Memcpy DtoH (Device -> Pinned), a copy of no function (Host)"),
            "Memcpy DtoH (Device -> Pin…nction (Host)");
  EXPECT_EQ(shortened(std::string(50, 'x') + "::operator()"), "operator()");
}

TEST(TraceText, NamesThatDifferOnlyInWhatIsLeftOutKeepIt) {
  const std::vector<std::string> names{"void first::space::kernel_of_some_length<float>(int)",
                                       "void other::space::kernel_of_some_length<float>(int)"};
  const std::vector<std::string> texts = shortened_names(names, 40);
  EXPECT_THAT(texts[0], HasSubstr("first"));
  EXPECT_THAT(texts[1], HasSubstr("other"));
}

trace::DataTable wide_table() {
  trace::DataTable table{"wide", "wide", {}, {}};
  table.columns = {{"name", "name", Kind::kText},
                   {"mean_ns", "mean", Kind::kTimeNs, trace::Importance::kDetail},
                   {"count", "count", Kind::kCount},
                   {"total_ns", "total", Kind::kTimeNs, trace::Importance::kMain}};
  table.rows = {{std::string(60, 'n'), std::int64_t{1500}, std::int64_t{12}, std::int64_t{18000}}};
  return table;
}

TEST(TraceText, LeavesOutTheLeastImportantColumnsAndNamesThem) {
  const auto text = [](std::size_t width) { return trace_table(wide_table(), {.width = width}).text(width); };
  EXPECT_THAT(text(0), ::testing::ContainsRegex("name +mean +count +total\n"));
  EXPECT_THAT(text(100), ::testing::ContainsRegex("name +mean +count +total\n"));
  EXPECT_THAT(text(42), ::testing::ContainsRegex("name +count +total\n"));
  EXPECT_THAT(text(42), HasSubstr("left out: mean (pipe into less -S for all)\n"));
  EXPECT_THAT(text(35), ::testing::ContainsRegex("name +total\n"));
  EXPECT_THAT(text(35), HasSubstr("left out: mean, count"));
  EXPECT_THAT(text(35), ::testing::ContainsRegex("\nn+…n+ +18.0 µs\n"));
}

TEST(TraceCell, CutsBetweenCharactersAndNotInsideThem) {
  std::string name;
  for (int i = 0; i < 100; ++i) name += "µ";
  std::string expected;
  for (int i = 0; i < 48; ++i) expected += "µ";
  expected += "…";
  for (int i = 0; i < 23; ++i) expected += "µ";
  EXPECT_EQ(shown(name, Kind::kText), expected);
}

std::vector<std::string> names_of_table(const std::vector<std::string>& names, std::size_t width = 0) {
  trace::DataTable table{"kernels", "kernels", {{"name", "name", Kind::kText}}, {}};
  for (const std::string& name : names) table.rows.push_back({name});
  trace::AnalysisResult result;
  result.tables = {table};
  const std::string text = trace_view(result, {.width = width}).text({.width = width});
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) - at));
  return {lines.begin() + 3, lines.end()};
}

TEST(TraceText, NamesThatDifferStayDifferent) {
  const std::string front =
      "void at::native::vectorized_elementwise_kernel<4, at::native::" + std::string(60, 'x');
  const std::string back = std::string(60, 'y') + ">(int, float*)";
  const std::vector<std::string> lines = names_of_table(
      {front + "AddFunctor" + back, front + "MulFunctor" + back, "gemm", front + "AddFunctor" + back});
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_THAT(lines[0], HasSubstr("AddFunctor"));
  EXPECT_THAT(lines[1], HasSubstr("MulFunctor"));
  EXPECT_EQ(lines[0], lines[3]);  // rows of one name
  for (const std::string& line : lines) EXPECT_LE(display_width(line), 72U) << line;
}

TEST(TraceText, NamesThatDifferInSeveralPlacesStayDifferent) {
  std::vector<std::string> names;
  for (const char* first : {"a", "b"}) {
    for (const char* second : {"c", "d", "\u00b5", "\u00e9"})
      names.push_back(std::string(60, 'p') + first + std::string(80, 'q') + second + std::string(60, 'r'));
  }
  for (const std::size_t width : {0U, 40U, 60U}) {
    const std::vector<std::string> lines = names_of_table(names, width);
    EXPECT_EQ(std::set(lines.begin(), lines.end()).size(), names.size()) << width;
  }
}

TEST(TraceText, ANumberTellsNamesApartWhereNothingElseDoes) {
  const std::string name(100, 'x');
  std::vector<std::string> names;
  for (std::size_t length = 90; length < 100; ++length) names.push_back(name.substr(0, length));
  names.push_back(shortened_names({name}, 72).front());  // a name that equals another's short form
  const std::vector<std::string> lines = names_of_table(names);
  EXPECT_EQ(std::set(lines.begin(), lines.end()).size(), names.size());
}

trace::AnalysisResult result() {
  trace::AnalysisResult result;
  trace::DataTable table{"kernels", "kernels by time", {}, {}};
  table.columns = {{"name", "name", Kind::kText}, {"total_ns", "total", Kind::kTimeNs}};
  table.rows = {{std::string("gemm|a"), std::int64_t{1500}}, {std::string("copy"), Cell{}}};
  result.tables = {table, {"gaps", "gaps", table.columns, {}}};
  result.headlines = {{"utilization", Kind::kShare, false, 0.5, "0"}};
  result.notes = {"the file has no steps"};
  return result;
}

TEST(TraceText, ShowsTablesUnderTheirTitlesAndThenTheNotes) {
  EXPECT_EQ(trace_view(result()).text(),
            "kernels by time\n"
            "name      total\n"
            "───────────────\n"
            "gemm|a  1.50 µs\n"
            "copy          -\n"
            "\n"
            "gaps: none\n"
            "\n"
            "- the file has no steps\n");
}

TEST(TraceText, LeavesOutWhatIsForCombiningOnly) {
  trace::AnalysisResult with = result();
  with.tables.push_back(with.tables.front());
  with.tables.back().title = "rows of one rank";
  with.tables.back().is_for_combining = true;
  EXPECT_EQ(trace_view(with).text(), trace_view(result()).text());
}

TEST(TraceText, IsMarkdownWhereAsked) {
  EXPECT_EQ(trace_view(result(), {.markdown = true}).text({.markdown = true}),
            "### kernels by time\n\n"
            "| name | total |\n"
            "| --- | ---: |\n"
            "| gemm\\|a | 1.50 µs |\n"
            "| copy | - |\n"
            "\n"
            "### gaps: none\n"
            "\n"
            "- the file has no steps\n");
}

TEST(TraceText, FallsBackToTheHeadlines) {
  trace::AnalysisResult bare = result();
  bare.tables.clear();
  EXPECT_THAT(trace_view(bare).text(), ::testing::ContainsRegex("utilization +0 +50.0 %"));
  bare.headlines[0].device.clear();
  EXPECT_THAT(trace_view(bare).text(), ::testing::ContainsRegex("utilization +all +50.0 %"));
}

}  // namespace
}  // namespace headroom

namespace headroom::trace {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MATCHER_P2(Is, count, total_ns, "") {
  return arg.count == count && arg.total_ns == total_ns;
}

TraceBuilder two_steps() {
  TraceBuilder builder;
  for (const std::int64_t at : {0, 1000}) {
    builder.step(at == 0 ? 7 : 8, at, 900);
    builder.op("aten::linear", at + 10, 500);
    builder.op("aten::addmm", at + 20, 400);
    builder.launch(at + 30, 5, "void gemm<float>(float*)", at + 50, 100, at + 1);
  }
  builder.runtime("cudaMemcpyAsync", 1700, 5, 90);
  builder.copy(1750, 40, 90);
  builder.kernel("orphan", 2500, 7, 91);
  return builder;
}

TEST(TraceProfile, SumsByName) {
  const TraceBuilder builder = two_steps();
  const TraceProfile profile = profile_of(builder.trace);
  EXPECT_EQ(profile.kernels.size(), 3U);
  EXPECT_THAT(profile.kernels.at("gemm"), Is(2, 200));
  EXPECT_THAT(profile.ops.at("aten::linear"), Is(2, 1000));
  EXPECT_THAT(profile.annotations.at("ProfilerStep"), Is(2, 1800));
  EXPECT_THAT(profile.calls.at("cudaLaunchKernel"), Is(2, 10));
  EXPECT_EQ(profile.steps, 2);
  EXPECT_EQ(profile_of(builder.trace, {{}, true}).kernels.count("void gemm<float>(float*)"), 1U);
}

TEST(TraceProfile, PlacesAreTheChainsOfOpsAboveALaunch) {
  const TraceProfile profile = profile_of(two_steps().trace);
  ASSERT_EQ(profile.places.size(), 3U);
  EXPECT_THAT(profile.places.at("ProfilerStep > aten::linear > aten::addmm > gemm"), Is(2, 200));
  EXPECT_THAT(profile.places.at("ProfilerStep > Memcpy HtoD (Pinned -> Device)"), Is(1, 40));
  EXPECT_THAT(profile.places.at("orphan"), Is(1, 7));
}

TEST(TraceProfile, OfOneStepHasWhatThatStepStarted) {
  const TraceBuilder builder = two_steps();
  const TraceProfile first = profile_of(builder.trace, {7, false}),
                     second = profile_of(builder.trace, {8, false});
  EXPECT_THAT(first.kernels, ElementsAre(testing::Pair("gemm", Is(1, 100))));
  EXPECT_THAT(second.kernels.at("Memcpy HtoD (Pinned -> Device)"), Is(1, 40));
  EXPECT_THAT(second.ops.at("aten::linear"), Is(1, 500));
  EXPECT_EQ(second.without_step, 1);
  try {
    profile_of(builder.trace, {9, false});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no ProfilerStep#9; its steps are 7, 8"));
  }
}

TEST(TraceProfile, WithoutStepsSaysHowToMarkThem) {
  TraceBuilder builder;
  builder.trace.writer = Writer::kNsight;
  builder.kernel("gemm", 0, 100, 1);
  try {
    profile_of(builder.trace, {9, false});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no steps: mark steps with an NVTX range"));
  }
  builder.annotation("step_num#4", 0, 200);
  try {
    profile_of(builder.trace, {9, false});
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("no step_num#9; its steps are 4"));
  }
}

TEST(TraceProfile, RanksAddUp) {
  TraceProfile sum = profile_of(two_steps().trace);
  add(sum, profile_of(two_steps().trace));
  EXPECT_THAT(sum.kernels.at("gemm"), Is(4, 400));
  EXPECT_THAT(sum.places.at("orphan"), Is(2, 14));
  EXPECT_EQ(std::tuple(sum.traces, sum.steps), std::tuple(2, 4));
}

TEST(TraceDiff, JoinsBothSidesByName) {
  const WorkByName before{{"a", {2, 10'000}}, {"b", {1, 5}}, {"d", {3, 9'000}}, {"e", {2, 9'000}}};
  const WorkByName after{{"a", {3, 11'000}}, {"c", {1, 6}}, {"d", {3, 10'001}}, {"e", {4, 7'000}}};
  std::vector<std::string> seen;
  for (const DiffLine& line : joined(before, after)) seen.push_back(line.name + " " + to_string(line.change));
  EXPECT_THAT(seen, ElementsAre("a unchanged", "b deleted", "c added", "d increased", "e decreased"));
  EXPECT_THAT(joined({}, {}), IsEmpty());
}

/// 1 us and 1 %, at most 1 ms, for any number of events.
TEST(TraceDiff, ChangesAreThoseOfTheTime) {
  const auto change = [](WorkSum before, WorkSum after, double before_steps = 1, double after_steps = 1) {
    const std::vector<DiffLine> lines =
        joined(WorkByName{{"k", before}}, WorkByName{{"k", after}}, before_steps, after_steps);
    return std::string(to_string(lines.at(0).change));
  };
  EXPECT_EQ(change({40, 500'000'000}, {40, 779'000'000}), "increased");
  EXPECT_EQ(change({40, 30'000'000'000}, {40, 29'721'000'000}), "decreased");
  EXPECT_EQ(change({40, 1'000'000}, {40, 1'010'000}), "unchanged");
  EXPECT_EQ(change({40, 1'000'000}, {40, 1'010'001}), "increased");
  EXPECT_EQ(change({40, 1'000'000'000}, {40, 1'001'000'000}), "unchanged");
  EXPECT_EQ(change({40, 1'000'000'000}, {40, 1'001'000'001}), "increased");
  EXPECT_EQ(change({4, 800'000}, {2, 400'000}, 4, 2), "unchanged");
  EXPECT_EQ(change({4, 800'000}, {4, 800'000}, 4, 2), "increased");
}

std::vector<std::string> names(const DataTable& table) {
  std::vector<std::string> all;
  for (const std::vector<Cell>& row : table.rows) all.push_back(std::get<std::string>(row.front()));
  return all;
}

TEST(TraceDiff, PutsTheLargestDifferenceFirst) {
  TraceProfile before, after;
  before.kernels = {{"slow", {1, 100}}, {"same", {1, 50}}, {"gone", {1, 70}}};
  after.kernels = {{"slow", {1, 130}}, {"same", {1, 50}}, {"new", {2, 1}}};
  before.steps = after.steps = 1;
  before.traces = after.traces = 1;
  const AnalysisResult result = diff(before, after, {2, false});
  ASSERT_EQ(result.tables.at(1).key, "kernels");
  EXPECT_THAT(names(result.tables[1]), ElementsAre("gone", "slow"));
  EXPECT_THAT(result.tables[1].title, HasSubstr("2 smaller changes left out"));
  EXPECT_THAT(result.tables[1].rows[0],
              ElementsAre(Cell{"gone"}, Cell{"deleted"}, Cell{std::int64_t{1}}, Cell{std::int64_t{0}},
                          Cell{std::int64_t{70}}, Cell{std::int64_t{0}}, Cell{std::int64_t{-70}}, Cell{70.0},
                          Cell{}));
  EXPECT_THAT(result.tables[0].rows.back(),
              ElementsAre(Cell{"all"}, Cell{std::int64_t{4}}, Cell{std::int64_t{3}}, Cell{std::int64_t{4}},
                          Cell{std::int64_t{220}}, Cell{std::int64_t{181}}, Cell{std::int64_t{-39}},
                          Cell{220.0 / 3}, Cell{181.0 / 4}));
  EXPECT_THAT(result.notes, IsEmpty());
}

TEST(TraceDiff, DividesBySteps) {
  TraceProfile before, after;
  before.kernels = {{"gemm", {4, 100}}};
  after.kernels = {{"gemm", {2, 60}}};
  before.steps = 2;
  after.steps = 1;
  EXPECT_THAT(diff(before, after).notes, ElementsAre(HasSubstr("--per-step divides")));
  const AnalysisResult result = diff(before, after, {20, true});
  EXPECT_THAT(result.notes, IsEmpty());
  EXPECT_THAT(result.tables.at(1).rows.at(0),
              ElementsAre(Cell{"gemm"}, Cell{"unchanged"}, Cell{2.0}, Cell{2.0}, Cell{50.0}, Cell{60.0},
                          Cell{10.0}, Cell{25.0}, Cell{30.0}));
  after.steps = 0;
  EXPECT_THROW(diff(before, after, {20, true}), Error);
}

TEST(TraceDiff, SaysWhenNothingCanBeJoined) {
  TraceProfile before, after;
  before.kernels = {{"a", {1, 1}}};
  after.kernels = {{"b", {1, 1}}};
  EXPECT_THAT(diff(before, after).notes, ElementsAre(HasSubstr("from the same program?")));
  EXPECT_THAT(diff(before, {}).notes, ElementsAre(HasSubstr("no GPU work in B")));
}

FileAnalysis full_analysis() {
  FileAnalysis analysis;
  TraceFacts& facts = analysis.facts;
  facts.source = "job/rank-3.json";
  facts.file_bytes = 123;
  facts.json_bytes = 1ULL << 40;
  facts.events_seen = 99;
  facts.start_ns = 1'623'143'089'861'123'457;
  facts.end_ns = 1'623'143'089'861'123'999;
  facts.recorded_at_s = 1'623'143'089;
  facts.is_complete = false;
  facts.problems = {30, 2, {{17, "ts is not a number: \"abc\""}, {90, "the file ends here"}}};
  facts.rank = 3;
  facts.devices.push_back({1, "NVIDIA H100", 8.5e10, 132, 2048, 32});
  analysis.result.headlines.push_back({"utilization", Kind::kShare, false, 0.1 + 0.2, "1"});
  analysis.result.headlines.push_back(
      {"overlap", Kind::kShare, false, std::numeric_limits<double>::infinity(), ""});
  analysis.result.notes = {"a note with \"quotes\"", "µs"};
  analysis.result.files = {{"overlay.json", "{\"traceEvents\": []}\n"}};
  DataTable table{
      "kernels", "kernels by time", {{"name", "name", Kind::kText}, {"x", "x", Kind::kNumber}}, {}};
  table.rows = {{std::string("inf"), std::int64_t{1}},
                {Cell{}, 1.0},
                {std::string(), std::numeric_limits<double>::quiet_NaN()},
                {std::string("gemm<float, 4>"), 1e300},
                {std::string("big"), std::numeric_limits<std::int64_t>::min()}};
  analysis.result.tables.push_back(table);
  table.is_for_combining = true;
  analysis.result.tables.push_back(table);
  return analysis;
}

void expect_equal(const Cell& a, const Cell& b) {
  ASSERT_EQ(a.index(), b.index());
  const auto* real = std::get_if<double>(&a);
  if (real != nullptr && std::isnan(*real)) {
    EXPECT_TRUE(std::isnan(std::get<double>(b)));
  } else {
    EXPECT_EQ(a, b);
  }
}

TEST(FileAnalysisJson, GivesBackWhatItWasGiven) {
  const FileAnalysis before = full_analysis();
  FileAnalysis failed;
  failed.facts.source = "gone.json";
  failed.error = "gone.json: no such file";
  const auto both = file_analyses_from_text(to_text(std::vector{before, failed}));
  ASSERT_EQ(both.size(), 2U);
  const FileAnalysis& after = both[0];
  EXPECT_EQ(std::tuple(after.facts.source, after.facts.json_bytes, after.facts.start_ns),
            std::tuple(before.facts.source, before.facts.json_bytes, before.facts.start_ns));
  EXPECT_EQ(std::tuple(after.facts.end_ns, after.facts.recorded_at_s, after.facts.is_complete),
            std::tuple(before.facts.end_ns, before.facts.recorded_at_s, false));
  EXPECT_EQ(after.facts.problems.count, 30U);
  ASSERT_EQ(after.facts.problems.first.size(), 2U);
  EXPECT_EQ(after.facts.problems.first[0].what, "ts is not a number: \"abc\"");
  EXPECT_EQ(std::tuple(after.facts.rank, after.facts.world_size), std::tuple(3, std::nullopt));
  ASSERT_EQ(after.facts.devices.size(), 1U);
  EXPECT_EQ(after.facts.devices[0].name, "NVIDIA H100");
  EXPECT_EQ(after.facts.devices[0].multiprocessors, 132);
  ASSERT_EQ(after.result.headlines.size(), 2U);
  EXPECT_EQ(after.result.headlines[0].value, 0.1 + 0.2);
  EXPECT_EQ(after.result.headlines[0].kind, Kind::kShare);
  EXPECT_EQ(after.result.headlines[0].device, "1");
  EXPECT_TRUE(std::isinf(after.result.headlines[1].value));
  EXPECT_EQ(after.result.notes, before.result.notes);
  ASSERT_EQ(after.result.files.size(), 1U);
  EXPECT_EQ(after.result.files[0].content, before.result.files[0].content);
  EXPECT_EQ(both[1].error, failed.error);
  EXPECT_EQ(both[1].facts.source, "gone.json");
}

TEST(FileAnalysisJson, KeepsWhatKindOfCellEachIs) {
  const FileAnalysis before = full_analysis();
  const auto after = file_analyses_from_text(to_text(std::vector{before}));
  const DataTable &a = before.result.tables[0], &b = after[0].result.tables.at(0);
  EXPECT_EQ(std::tuple(b.title, b.is_for_combining), std::tuple(a.title, false));
  EXPECT_TRUE(after[0].result.tables.at(1).is_for_combining);
  EXPECT_EQ(b.columns[1].kind, Kind::kNumber);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t row = 0; row < a.rows.size(); ++row) {
    for (std::size_t i = 0; i < 2; ++i) expect_equal(a.rows[row][i], b.rows[row].at(i));
  }
}

RankSummary full_summary() {
  RankSummary summary;
  summary.steps = 4;
  summary.shares.step_ns = 0.1 + 0.2;
  summary.shares.steps = 3;
  summary.shares.known = DeviceTimeStatus::kAfterSteps;
  summary.shares.busy = 0.7;
  summary.shares.not_recorded = 0.1;
  summary.shares.idle_during.back() = 1.0 / 3;
  summary.recorded = {1'700'000'000'000'000'001, 1'700'000'000'000'000'009};
  CollectiveCall call;
  call.group = "tp \"0\"";
  call.group_ranks = "[0, 1]";
  call.collective = "all_reduce";
  call.kernel = "ncclDevKernel_AllReduce";
  call.dtype = "Float";
  call.index = 7;
  call.elements_in = std::numeric_limits<double>::infinity();
  call.device = 3;
  call.start_ns = 1'700'000'000'000'000'003;
  call.duration_ns = 5;
  call.exposed_ns = 2;
  call.ready_for_ns = 7;
  call.exposed_tail_ns = 1;
  summary.calls = {call};
  Finding finding;
  finding.kind = FindingKind::kImbalance;
  finding.recoverable_ns = 12.5;
  finding.further_ns = 2.5;
  finding.partner = 3;
  finding.together_ns = 15.5;
  finding.share = std::numeric_limits<double>::quiet_NaN();
  finding.op = "aten::mm";
  finding.line = "train.py(3): step";
  finding.evidence = "numbers";
  finding.fix = "do";
  summary.findings = {finding};
  summary.ops = {{"aten::bmm", 2.5, 0}, {"cudaFree", 0, 1}};
  summary.path = NamedPath{"ProfilerStep#1", {0, 10, {{2, 5, path_class(HostActivity::kLaunch)}}}};
  return summary;
}

TEST(FileAnalysisJson, KeepsTheSummaryOfARank) {
  FileAnalysis before = full_analysis();
  const RankSummary was = full_summary();
  before.result.summary = std::make_shared<const RankSummary>(was);
  const auto both = file_analyses_from_text(to_text(std::vector{before, full_analysis()}));
  EXPECT_EQ(both.at(1).result.summary, nullptr);
  ASSERT_NE(both[0].result.summary, nullptr);
  const RankSummary& is = *both[0].result.summary;
  EXPECT_EQ(is.steps, 4);
  EXPECT_EQ(std::tuple(is.shares.step_ns, is.shares.steps, is.shares.known, is.shares.busy),
            std::tuple(was.shares.step_ns, 3, DeviceTimeStatus::kAfterSteps, 0.7));
  EXPECT_EQ(is.shares.not_recorded, 0.1);
  EXPECT_EQ(is.shares.idle_during, was.shares.idle_during);
  EXPECT_EQ(is.recorded, was.recorded);
  ASSERT_EQ(is.calls.size(), 1U);
  EXPECT_EQ(std::tuple(is.calls[0].group, is.calls[0].index, is.calls[0].elements_in, is.calls[0].bytes),
            std::tuple(was.calls[0].group, 7, was.calls[0].elements_in, -1));
  EXPECT_EQ(is.calls[0].device, 3);
  EXPECT_EQ(is.calls[0].end_ns(), was.calls[0].end_ns());
  EXPECT_EQ(std::tuple(is.calls[0].exposed_ns, is.calls[0].ready_for_ns, is.calls[0].exposed_tail_ns),
            std::tuple(2, 7, 1));
  ASSERT_EQ(is.findings.size(), 1U);
  EXPECT_EQ(std::tuple(is.findings[0].kind, is.findings[0].recoverable_ns, is.findings[0].further_ns),
            std::tuple(FindingKind::kImbalance, 12.5, 2.5));
  EXPECT_EQ(std::tuple(is.findings[0].partner, is.findings[0].together_ns), std::tuple(3, 15.5));
  EXPECT_TRUE(std::isnan(is.findings[0].share));
  EXPECT_EQ(std::tuple(is.findings[0].rank, is.findings[0].line, is.findings[0].fix),
            std::tuple(-1, was.findings[0].line, "do"));
  ASSERT_EQ(is.ops.size(), 2U);
  EXPECT_EQ(is.ops[0].name, "aten::bmm");
  EXPECT_EQ(is.ops[1].host_ns, 1);
  ASSERT_TRUE(is.path.has_value());
  EXPECT_EQ(is.path->window, "ProfilerStep#1");
  ASSERT_EQ(is.path->path.stretches.size(), 1U);
  EXPECT_EQ(is.path->path.stretches[0].kind, path_class(HostActivity::kLaunch));
}

TEST(FileAnalysisJson, RefusesASummaryOfAnotherVersion) {
  FileAnalysis analysis = full_analysis();
  analysis.result.summary = std::make_shared<const RankSummary>(full_summary());
  std::string text = to_text(std::vector{analysis});
  const auto with = [&](const std::string& was, const std::string& is) {
    const std::size_t at = text.find(was);
    EXPECT_NE(at, std::string::npos) << was;
    return at == std::string::npos ? text : std::string(text).replace(at, was.size(), is);
  };
  EXPECT_NO_THROW(file_analyses_from_text(text));
  EXPECT_THROW(file_analyses_from_text(with("\"stretches\":[[2,5,", "\"stretches\":[[2,5,9")), Error);
  EXPECT_THROW(file_analyses_from_text(with("\"stretches\":[[2,5,", "\"stretches\":[[2,\"x\",")), Error);
  EXPECT_THROW(file_analyses_from_text(with("\"ops\":", "\"operators\":")), Error);
}

TEST(FileAnalysisJson, RefusesWhatItDidNotWrite) {
  EXPECT_THROW(file_analyses_from_text("["), Error);
  EXPECT_THROW(file_analyses_from_text("[{}]"), Error);
  EXPECT_THROW(file_analyses_from_text(R"([{"facts": 3, "error": "", "result": {}}])"), Error);
}

}  // namespace
}  // namespace headroom::trace
