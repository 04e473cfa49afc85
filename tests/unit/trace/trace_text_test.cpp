// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/trace_text.h"

#include <gmock/gmock.h>

#include <limits>
#include <set>

#include "headroom/base/text.h"
#include "headroom/trace/report/distinct_names.h"

namespace headroom {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
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
  EXPECT_THAT(text, ::testing::StartsWith("void at::native::xxx"));
  EXPECT_THAT(text, ::testing::EndsWith("xxxµ(float*, int)"));
  EXPECT_THAT(text, HasSubstr("…"));
  EXPECT_EQ(trace_cell_text(name, Kind::kText, {.whole_names = true}), name);
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
  const std::string text = trace_sheet(result, {.width = width}).text({.width = width});
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
  names.push_back(shortened_names({name}, 72).front());  // a name that is what others become
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
  EXPECT_EQ(trace_sheet(result()).text(),
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
  EXPECT_EQ(trace_sheet(with).text(), trace_sheet(result()).text());
}

TEST(TraceText, IsMarkdownWhereAsked) {
  EXPECT_EQ(trace_sheet(result(), {.markdown = true}).text({.markdown = true}),
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
  EXPECT_THAT(trace_sheet(bare).text(), ::testing::ContainsRegex("utilization +0 +50.0 %"));
  bare.headlines[0].device.clear();
  EXPECT_THAT(trace_sheet(bare).text(), ::testing::ContainsRegex("utilization +all +50.0 %"));
}

}  // namespace
}  // namespace headroom
