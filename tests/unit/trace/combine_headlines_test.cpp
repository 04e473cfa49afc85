// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>

#include "headroom/trace/analysis.h"

namespace headroom::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RankResult rank(std::int64_t number, double utilization, std::vector<std::string> notes = {}) {
  RankResult rank;
  rank.rank = number;
  rank.source = "rank-" + std::to_string(number) + ".json";
  rank.result.headlines = {{"utilization", Kind::kShare, false, utilization, ""},
                           {"utilization", Kind::kShare, false, 0.99, "0"}};
  rank.result.notes = std::move(notes);
  return rank;
}

Cell text(const char* value) {
  return std::string(value);
}

TEST(CombineHeadlines, GivesARowForEachRankAndTheSpread) {
  std::vector ranks{rank(2, 0.5), rank(0, 0.2), rank(1, 0.3)};
  ranks[1].result.headlines.push_back({"idle_time_ns", Kind::kTimeNs, true, 700, ""});
  const AnalysisResult combined = combine_headlines(ranks);
  ASSERT_EQ(combined.tables.size(), 2U);
  const DataTable& by_rank = combined.tables[0];
  EXPECT_EQ(by_rank.columns.size(), 4U);
  EXPECT_EQ(by_rank.columns[3].kind, Kind::kTimeNs);
  EXPECT_EQ(by_rank.columns[3].key, "idle_time_ns");
  EXPECT_EQ(by_rank.columns[3].title, "idle time");
  EXPECT_THAT(by_rank.rows,
              ElementsAre(ElementsAre(Cell{std::int64_t{0}}, text("rank-0.json"), Cell{0.2}, Cell{700.0}),
                          ElementsAre(Cell{std::int64_t{1}}, text("rank-1.json"), Cell{0.3}, Cell{}),
                          ElementsAre(Cell{std::int64_t{2}}, text("rank-2.json"), Cell{0.5}, Cell{})));
  const DataTable& spread = combined.tables[1];
  EXPECT_EQ(spread.columns[1].kind, Kind::kShare);
  EXPECT_THAT(spread.rows, ElementsAre(ElementsAre(text("min"), Cell{0.2}, Cell{700.0}),
                                       ElementsAre(text("median"), Cell{0.3}, Cell{700.0}),
                                       ElementsAre(text("max"), Cell{0.5}, Cell{700.0})));
}

TEST(CombineHeadlines, GivesTheMedianAsItsOwnHeadline) {
  const AnalysisResult combined = combine_headlines(std::vector{rank(0, 0.1), rank(1, 0.4)});
  ASSERT_EQ(combined.headlines.size(), 1U);
  EXPECT_EQ(combined.headlines[0].metric, "utilization");
  EXPECT_DOUBLE_EQ(combined.headlines[0].value, 0.25);
}

TEST(CombineHeadlines, WhatIsNoNumberIsLeftOut) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const AnalysisResult combined = combine_headlines(std::vector{rank(0, nan), rank(1, 0.4)});
  EXPECT_DOUBLE_EQ(combined.headlines.at(0).value, 0.4);
  EXPECT_EQ(combined.tables.at(0).rows.at(0).at(2), Cell{});
  EXPECT_EQ(combine_headlines(std::vector{rank(0, nan)}).tables.size(), 1U);
}

TEST(CombineHeadlines, SaysWhatAllSayOnceAndTheRestByRank) {
  const AnalysisResult combined =
      combine_headlines(std::vector{rank(0, 1, {"no steps", "idle"}), rank(1, 1, {"no steps"})});
  EXPECT_THAT(combined.notes, ElementsAre("no steps", "rank 0: idle"));
}

TEST(CombineHeadlines, KeepsTheNotesReadable) {
  std::vector<RankResult> ranks;
  for (int i = 0; i < 64; ++i) ranks.push_back(rank(i, 0.5, {"idle " + std::to_string(i)}));
  const AnalysisResult combined = combine_headlines(ranks);
  ASSERT_EQ(combined.notes.size(), 21U);
  EXPECT_EQ(combined.notes.back(), "44 more notes on single ranks");
}

}  // namespace
}  // namespace headroom::trace
