// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/columns/rank_numbers.h"

#include <gmock/gmock.h>

#include <set>

namespace headroom::trace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(RankInName, FindsTheNumberOfTheRank) {
  EXPECT_EQ(rank_in_name("job/rank-3.json.gz"), 3);
  EXPECT_EQ(rank_in_name("rank_12.pt.trace.json"), 12);
  EXPECT_EQ(rank_in_name("trace_Rank7_step2.json"), 7);
  EXPECT_EQ(rank_in_name("flux_trace_rank_0.json.gz"), 0);
  EXPECT_EQ(rank_in_name("kineto.rank[4].json"), 4);
  EXPECT_EQ(rank_in_name("17.json"), 17);
  EXPECT_EQ(rank_in_name("trace_5.json"), 5);
  EXPECT_EQ(rank_in_name("2_profile.json"), 2);
  EXPECT_EQ(rank_in_name("ranking/rank-1/rank-9.json"), 9);
}

TEST(RankInName, TakesNoOtherNumberForARank) {
  EXPECT_EQ(rank_in_name("trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("rank-3/trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("host_1695835535.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("worker0.1623143089861.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("resnet50.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("frank.json"), std::nullopt);
}

TEST(RankInName, TakesNoProcessIdForARank) {
  EXPECT_EQ(rank_in_name("host_27702.1695835535.pt.trace.json.gz"), std::nullopt);
  EXPECT_EQ(rank_in_name("job/gpu-7_311.1732480000123456789.pt.trace.json"), std::nullopt);
  EXPECT_EQ(rank_in_name("node-1.rack-2.example.com_27702.1695835535123.pt.trace.json.gz"), std::nullopt);
  EXPECT_EQ(rank_in_name("host_rank3.1695835535.pt.trace.json.gz"), 3);  // a worker_name of the user's
  EXPECT_EQ(rank_in_name("trace_5.pt.trace.json"), 5);                   // none of the handler's: no time
}

TraceFacts of(const char* source, std::optional<std::int64_t> rank = {}) {
  TraceFacts facts;
  facts.source = source;
  facts.rank = rank;
  return facts;
}

TEST(RankNumbers, AreWhatTheTracesSay) {
  const RankNumbers numbers = rank_numbers(std::vector{of("a.json", 5), of("b.json", 1)});
  EXPECT_THAT(numbers.ranks, ElementsAre(5, 1));
  EXPECT_THAT(numbers.notes, IsEmpty());
}

TEST(RankNumbers, ThoseWithoutOneGetWhatIsFree) {
  const RankNumbers numbers = rank_numbers(std::vector{of("a.json"), of("b.json", 0), of("c.json")});
  EXPECT_THAT(numbers.ranks, ElementsAre(1, 0, 2));
  EXPECT_THAT(numbers.notes,
              ElementsAre("2 files do not tell their rank: taken by their places, a.json as rank 1"));
  EXPECT_THAT(rank_numbers(std::vector{of("a.json"), of("b.json", 0)}).notes,
              ElementsAre("a.json does not tell its rank: taken as rank 1, by its place"));
}

TEST(RankNumbers, DuplicatesAreNamed) {
  const RankNumbers numbers =
      rank_numbers(std::vector{of("a/rank-0.json", 0), of("b/rank-0.json", 0), of("c.json", 1)});
  EXPECT_THAT(numbers.ranks, ElementsAre(0, 2, 1));
  EXPECT_THAT(numbers.notes,
              ElementsAre(HasSubstr("a/rank-0.json and b/rank-0.json both say that they are rank 0: the "
                                    "second is taken as rank 2")));
}

TEST(RankNumbers, ManyDuplicatesAreOneNote) {
  std::vector<TraceFacts> copies;
  for (int i = 0; i < 64; ++i) copies.push_back(of(i == 0 ? "a.json" : "b.json", 3));
  const RankNumbers numbers = rank_numbers(copies);
  EXPECT_EQ(std::set(numbers.ranks.begin(), numbers.ranks.end()).size(), 64U);
  EXPECT_THAT(numbers.notes,
              ElementsAre(HasSubstr("63 files say that they are a rank that another one is (a.json and "
                                    "b.json both say that they are rank 3)")));
}

}  // namespace
}  // namespace headroom::trace
