// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/report/file_analysis_json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headroom/base/error.h"

namespace headroom::trace {
namespace {

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
  EXPECT_EQ(after.facts.source, before.facts.source);
  EXPECT_EQ(after.facts.json_bytes, before.facts.json_bytes);
  EXPECT_EQ(after.facts.start_ns, before.facts.start_ns);
  EXPECT_EQ(after.facts.end_ns, before.facts.end_ns);
  EXPECT_EQ(after.facts.recorded_at_s, before.facts.recorded_at_s);
  EXPECT_FALSE(after.facts.is_complete);
  EXPECT_EQ(after.facts.problems.count, 30U);
  ASSERT_EQ(after.facts.problems.first.size(), 2U);
  EXPECT_EQ(after.facts.problems.first[0].what, "ts is not a number: \"abc\"");
  EXPECT_EQ(after.facts.rank, 3);
  EXPECT_EQ(after.facts.world_size, std::nullopt);
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
  EXPECT_EQ(b.title, a.title);
  EXPECT_FALSE(b.is_for_combining);
  EXPECT_TRUE(after[0].result.tables.at(1).is_for_combining);
  EXPECT_EQ(b.columns[1].kind, Kind::kNumber);
  ASSERT_EQ(a.rows.size(), b.rows.size());
  for (std::size_t row = 0; row < a.rows.size(); ++row) {
    for (std::size_t i = 0; i < 2; ++i) expect_equal(a.rows[row][i], b.rows[row].at(i));
  }
}

TEST(FileAnalysisJson, RefusesWhatItDidNotWrite) {
  EXPECT_THROW(file_analyses_from_text("["), Error);
  EXPECT_THROW(file_analyses_from_text("[{}]"), Error);
  EXPECT_THROW(file_analyses_from_text(R"([{"facts": 3, "error": "", "result": {}}])"), Error);
}

}  // namespace
}  // namespace headroom::trace
