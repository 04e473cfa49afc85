// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>

#include "headroom/base/error.h"
#include "headroom/ranks/collective_ring.h"
#include "headroom/ranks/collectives/collectives.h"

namespace headroom {
namespace {

using namespace testing;

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

/// 0 and 1 have waited 5 s for rank 2, whose last collective was 6 s ago.
RankHistories one_missing() {
  const auto done = entry(56, "broadcast", CollectiveState::kCompleted, 6);
  const auto waiting = entry(57, "all_reduce", CollectiveState::kStarted, 5);
  return {{0, history({done, waiting})}, {1, history({done, waiting})}, {2, history({done})}};
}

TEST(Waiting, NamesWhoWaitsAndWhoDidNotArrive) {
  EXPECT_EQ(
      waiting_text(one_missing()),
      "ranks 0, 1 have waited for 5.00 s in all_reduce 57 of 'world' (1024 f32); rank 2 did not arrive: its "
      "last was broadcast 56, completed 6.00 s ago");
}

TEST(Waiting, ARankThatBeganNothingDidNotArrive) {
  RankHistories histories = one_missing();
  histories[2].calls.clear();
  EXPECT_THAT(waiting_text(histories), HasSubstr("rank 2 did not arrive: it started no collective"));
  histories[2].groups.clear();
  EXPECT_THAT(waiting_text(histories), HasSubstr("rank 2 did not arrive: it started no collective"));
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
              HasSubstr("rank 2 did not arrive: its last was broadcast 56, running for 7.00 s"));
}

TEST(Waiting, RanksThatCallDifferentThingsAreToldApart) {
  RankHistories histories = one_missing();
  histories[2].calls.push_back(entry(57, "barrier", CollectiveState::kStarted, 5));
  EXPECT_THAT(waiting_text(histories), HasSubstr("ranks 0, 1, 2 have waited"));
  EXPECT_THAT(waiting_text(histories), HasSubstr("but rank 2 calls barrier 57 (1024 f32) instead"));
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

TEST(CollectiveSizes, AreWholeElements) {
  EXPECT_EQ(collective_bytes("all_reduce", 1023, "f32", 3), 1020);
  EXPECT_EQ(collective_bytes("broadcast", 1023, "f64", 3), 1016);
  EXPECT_EQ(collective_bytes("all_reduce", 1, "i64", 2), 8) << "one element at least";
}

TEST(CollectiveSizes, AreTheSameForEachRankWhereEachHasAPart) {
  EXPECT_EQ(collective_bytes("all_gather", 1024, "f32", 3), 1020);
  EXPECT_EQ(collective_bytes("reduce_scatter", 1, "f16", 4), 8);
  EXPECT_EQ(collective_bytes("all_to_all", 4096, "i32", 4), 4096);
}

TEST(CollectiveSizes, OfAnUnknownDtypeAreRefused) {
  EXPECT_THROW(collective_bytes("all_reduce", 64, "bf16", 2), Error);
}

TEST(ExchangedBytes, AreWhatARankHasToSend) {
  EXPECT_DOUBLE_EQ(exchanged_bytes("all_reduce", 1200, 4), 1800);
  EXPECT_DOUBLE_EQ(exchanged_bytes("all_gather", 1200, 4), 900);
  EXPECT_DOUBLE_EQ(exchanged_bytes("broadcast", 1200, 2), 600)
      << "the mean of one that sends all and one that sends none";
  EXPECT_DOUBLE_EQ(exchanged_bytes("all_reduce", 1200, 1), 0);
}

Record record(const std::string& metric, double value, std::optional<Interval> interval) {
  Record made;
  made.model.name = "reduce_scatter";
  made.model.backend = "gloo";
  made.axes = {{"bytes", "4096"}, {"ranks", "2"}, {"dtype", "f32"}};
  made.metric.name = metric;
  made.metric.unit = metric.ends_with("bw") ? "GB/s" : "us";
  made.metric.value = value;
  made.interval = interval;
  made.verified = true;
  return made;
}

std::vector<Record> measured() {
  std::vector<Record> records{record("latency", 120, Interval{115, 125, 0.95})};
  records[0].samples.push_back({});
  records[0].samples[0].values.assign(40, 120);
  records[0].slowest = Record::Slowest{1, 0.613};
  records.push_back(record("latency p90", 150, Interval{140, 190, 0.95}));
  records.push_back(record("latency p99", 180, std::nullopt));
  records.push_back(record("algbw", 0.0341, std::nullopt));
  records.push_back(record("busbw", 0.0171, Interval{0.016, 0.018, 0.95}));
  records.push_back(record("skew", 12, std::nullopt));
  return records;
}

TEST(CollectivesTable, HasTimeBandwidthSkewAndPercentilesWithTheirSpread) {
  EXPECT_THAT(collectives_view(measured()).text(),
              AllOf(HasSubstr("4 KiB"), HasSubstr("120 µs ±5.00 µs"), HasSubstr("0.0341"),
                    HasSubstr("0.0171 ±0.00100"), HasSubstr("12.0 µs"), HasSubstr("rank 1 in 61.3 %"),
                    HasSubstr("right"), HasSubstr("150 µs [140 µs, 190 µs]"), HasSubstr("180 µs [too few]")));
}

TEST(CollectivesTable, SaysOnceOfWhatACollectiveIsComposed) {
  auto records = measured();
  EXPECT_THAT(collectives_view(records).text(), Not(HasSubstr("*")));
  for (Record& made : records) made.model.extra_info["composed of"] = "all_to_all, then a sum";
  EXPECT_THAT(collectives_view(records).text(),
              AllOf(HasSubstr("reduce_scatter *"),
                    HasSubstr("* gloo has no reduce_scatter: measured as all_to_all, then a sum\n")));
}

TEST(CollectivesTable, WhatFailedIsARowWithItsReason) {
  Record failed = record("latency", 0, std::nullopt);
  failed.outcome = {Outcome::Kind::kFailed, "wrong data on rank 1"};
  EXPECT_EQ(collectives_view({failed}).text(),
            "1 of 1 case failed: reduce_scatter of 4 KiB: wrong data on rank 1\n"
            "FAILED: reduce_scatter of 4 KiB: wrong data on rank 1\n");
}

TEST(CollectivesTable, EachRankHasARow) {
  Record ranks = record("rank latency", 120, std::nullopt);
  ranks.samples.resize(2);
  ranks.samples[0].values.assign(30, 110);
  ranks.samples[1].values.assign(30, 130);
  EXPECT_THAT(collectives_rank_table({ranks}).text(),
              AllOf(HasSubstr("110 µs"), HasSubstr("130 µs"), HasSubstr("30")));
}

}  // namespace
}  // namespace headroom
