// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collective_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kNow = 100'000'000'000, kSecond = 1'000'000'000;

CollectiveEntry entry(std::uint64_t sequence, const std::string& op, CollectiveState state, int seconds_ago) {
  CollectiveEntry made;
  made.sequence = sequence;
  made.op = op;
  made.dtype = "f32";
  made.elements_in = made.elements_out = 1024;
  made.created_ns = made.started_ns = kNow - seconds_ago * kSecond;
  if (state == CollectiveState::kCompleted) made.completed_ns = made.created_ns;
  made.state = state;
  return made;
}

CollectiveHistory history(std::vector<CollectiveEntry> calls, std::vector<int> ranks = {0, 1, 2}) {
  const int size = static_cast<int>(ranks.size());
  return {kNow, {{"world", std::move(ranks), size}}, std::move(calls)};
}

/// Ranks 0 and 1 wait since 5 s for rank 2, whose last was 6 s ago.
RankHistories one_missing() {
  const auto done = entry(56, "broadcast", CollectiveState::kCompleted, 6);
  const auto waiting = entry(57, "all_reduce", CollectiveState::kStarted, 5);
  return {{0, history({done, waiting})}, {1, history({done, waiting})}, {2, history({done})}};
}

TEST(Waiting, NamesWhoWaitsAndWhoDidNotArrive) {
  EXPECT_EQ(waiting_text(one_missing()),
            "ranks 0, 1 wait since 5.00 s in all_reduce 57 of 'world' (1024 f32); rank 2 did not arrive: its "
            "last was broadcast 56, completed 6.00 s ago");
}

TEST(Waiting, ARankThatBeganNothingDidNotArrive) {
  RankHistories histories = one_missing();
  histories[2].calls.clear();
  EXPECT_THAT(waiting_text(histories), HasSubstr("rank 2 did not arrive: it began none"));
  histories[2].groups.clear();
  EXPECT_THAT(waiting_text(histories), HasSubstr("rank 2 did not arrive: it began none"));
}

TEST(Waiting, ARankThatIsNotOfTheGroupIsNotMissed) {
  RankHistories histories = one_missing();
  for (auto& [rank, known] : histories) known.groups[0] = {"world", {0, 1}, 2};
  histories[2] = history({}, {2, 3});
  EXPECT_THAT(waiting_text(histories), Not(HasSubstr("rank 2")));
}

TEST(Waiting, ARankBehindTheOthersIsNamedWhereItIs) {
  RankHistories histories = one_missing();
  histories[2].calls.back() = entry(56, "broadcast", CollectiveState::kStarted, 7);
  EXPECT_THAT(waiting_text(histories),
              HasSubstr("rank 2 did not arrive: its last was broadcast 56, where it is since 7.00 s"));
}

TEST(Waiting, RanksThatCallDifferentThingsAreToldApart) {
  RankHistories histories = one_missing();
  histories[2].calls.push_back(entry(57, "barrier", CollectiveState::kStarted, 5));
  EXPECT_THAT(waiting_text(histories), HasSubstr("ranks 0, 1, 2 wait"));
  EXPECT_THAT(waiting_text(histories), HasSubstr("but rank 2 calls barrier 57 (1024 f32) there"));
  histories[2].calls.back() = entry(57, "all_reduce", CollectiveState::kStarted, 5);
  EXPECT_THAT(waiting_text(histories), Not(HasSubstr("but")));
}

TEST(Waiting, NobodyWaitsWhereAllIsDone) {
  const auto done = entry(1, "all_reduce", CollectiveState::kCompleted, 1);
  EXPECT_EQ(waiting_text({{0, history({done})}, {1, history({done})}}), "");
  EXPECT_EQ(waiting_text({}), "");
}

TEST(Collectives, TheLastOfEachRankAreShown) {
  const std::string text = collectives_text(one_missing(), 1);
  EXPECT_THAT(text, HasSubstr("started"));
  EXPECT_THAT(text, HasSubstr("5.00 s"));
  EXPECT_EQ(std::ranges::count(text, '\n'), 5) << text;
  EXPECT_EQ(collectives_text({{0, history({})}}, 8), "");
}

TEST(Collectives, GoAsJsonAndComeBack) {
  RankHistories histories = one_missing();
  for (auto& [rank, known] : histories) known = collective_history_from_json(to_json(known));
  EXPECT_EQ(waiting_text(histories), waiting_text(one_missing()));
  EXPECT_EQ(collectives_text(histories, 8), collectives_text(one_missing(), 8));
}

TEST(Collectives, WhatIsNoHistoryIsAnError) {
  Json json = to_json(one_missing()[0]);
  json["calls"][0][0] = 7;
  EXPECT_THROW(collective_history_from_json(json), Error);
  EXPECT_THROW(collective_history_from_json(Json{{"now_ns", "x"}}), Error);
}

}  // namespace
}  // namespace headroom
