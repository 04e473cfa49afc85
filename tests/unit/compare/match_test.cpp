// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/match.h"

#include <gmock/gmock.h>

#include "sample_records.h"

namespace headroom {
namespace {

using test::message_of;
using test::record_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Record with_runner(Record record, const std::string& runner) {
  record.runner = runner;
  return record;
}

TEST(MatchRecords, GoesByIdentityNotByPosition) {
  const std::vector<Record> baseline{record_of("a", {1}), record_of("b", {2}), record_of("gone", {3})};
  const std::vector<Record> test{record_of("new", {4}), record_of("b", {5}), record_of("a", {6})};
  const Matches matches = match_records(baseline, test);
  ASSERT_EQ(matches.pairs.size(), 2u);
  EXPECT_EQ(matches.pairs[0].second, &test[2]);
  EXPECT_EQ(matches.pairs[1].second, &test[1]);
  EXPECT_THAT(matches.only_baseline, ElementsAre(&baseline[2]));
  EXPECT_THAT(matches.only_test, ElementsAre(&test[0]));
}

TEST(MatchRecords, TellsAxesApart) {
  std::vector<Record> baseline{record_of("a", {1})}, test{record_of("a", {1})};
  baseline[0].axes = {{"D", "1"}};
  test[0].axes = {{"D", "2"}};
  EXPECT_TRUE(match_records(baseline, test).pairs.empty());
}

TEST(MatchRecords, TakesAnyRunnerWhereThereIsOne) {
  const std::vector<Record> baseline{with_runner(record_of("a", {1}), "old-build")};
  const std::vector<Record> test{with_runner(record_of("a", {2}), "new-build")};
  EXPECT_EQ(match_records(baseline, test).pairs.size(), 1u);
}

TEST(MatchRecords, KeepsSeveralRunnersOfOneCaseApart) {
  const std::vector<Record> baseline{with_runner(record_of("a", {1}), "x"),
                                     with_runner(record_of("a", {1}), "y")};
  const std::vector<Record> test{with_runner(record_of("a", {2}), "y")};
  const Matches matches = match_records(baseline, test);
  ASSERT_EQ(matches.pairs.size(), 1u);
  EXPECT_EQ(matches.pairs[0].first, &baseline[1]);
  EXPECT_THAT(matches.only_baseline, ElementsAre(&baseline[0]));
}

TEST(JoinDuplicates, AppendsSamplesAsFurtherProcesses) {
  const JoinedRecords joined =
      join_duplicates({record_of("a", {1, 2, 3}), record_of("b", {9}), record_of("a", {5, 6})});
  ASSERT_EQ(joined.records.size(), 2u);
  EXPECT_EQ(joined.records[0].samples.size(), 2u);
  EXPECT_DOUBLE_EQ(joined.records[0].metric.value, 3);
  EXPECT_TRUE(joined.records[0].samples[0].rounds.empty()) << "rounds of two runs are no pairs";
  ASSERT_EQ(joined.notes.size(), 1u);
  EXPECT_THAT(joined.notes[0], HasSubstr("2 runs of 1 result are joined"));
}

TEST(JoinDuplicates, MakesSamplesOfLoneNumbers) {
  std::vector<Record> records;
  for (const double value : {3.0, 1.0, 2.0}) {
    records.push_back(record_of("a", {}));
    records.back().metric.value = value;
  }
  const JoinedRecords joined = join_duplicates(records);
  ASSERT_EQ(joined.records.size(), 1u);
  EXPECT_EQ(joined.records[0].samples.size(), 3u);
  EXPECT_DOUBLE_EQ(joined.records[0].metric.value, 2);
}

TEST(JoinDuplicates, PrefersSamplesToLoneNumbersAndSaysSo) {
  const JoinedRecords joined = join_duplicates({record_of("a", {}), record_of("a", {4, 5, 6})});
  ASSERT_EQ(joined.records.size(), 1u);
  EXPECT_EQ(joined.records[0].samples.size(), 1u);
  ASSERT_EQ(joined.notes.size(), 1u);
  EXPECT_THAT(joined.notes[0], HasSubstr("1 results without samples are left out"));
}

TEST(JoinDuplicates, PrefersMeasuredToFailed) {
  Record failed = record_of("a", {});
  failed.outcome = {Outcome::Kind::kFailed, "killed"};
  const JoinedRecords joined = join_duplicates({failed, record_of("a", {4})});
  ASSERT_EQ(joined.records.size(), 1u);
  EXPECT_EQ(joined.records[0].outcome.kind, Outcome::Kind::kMeasured);
}

TEST(JoinDuplicates, ConvertsUnits) {
  Record in_ms = record_of("a", {0.003});
  in_ms.metric.unit = "ms";
  const JoinedRecords joined = join_duplicates({record_of("a", {1}), in_ms});
  EXPECT_EQ(joined.records[0].metric.unit, "us");
  EXPECT_DOUBLE_EQ(joined.records[0].metric.value, 2);
}

TEST(JoinDuplicates, RefusesUnitsThatDoNotConvert) {
  Record other = record_of("a", {1});
  other.metric.unit = "GB/s";
  EXPECT_THAT(message_of([&] {
                join_duplicates({record_of("a", {1}), other});
              }),
              HasSubstr("a (native, latency) is there twice, in 'us' and in 'GB/s'"));
}

}  // namespace
}  // namespace headroom
