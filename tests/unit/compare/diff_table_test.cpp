// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/diff_report.h"

#include <gmock/gmock.h>

#include "headroom/base/json.h"

namespace headroom {
namespace {

using namespace testing;

Record timed(const std::string& name, double center, std::size_t count) {
  Record record;
  record.model.name = name;
  record.model.backend = "native";
  record.metric = {"latency", "us", Direction::kLowerIsBetter, center, {}, {}};
  ProcessSamples process;
  for (std::size_t i = 0; i < count; ++i) {
    process.values.push_back(center * (1 + 0.001 * (static_cast<double>((i * 7) % 11) - 5)));
  }
  if (count > 0) record.samples = {process};
  return record;
}

std::string answer_of(const DiffReport& report) {
  View view;
  answer_diff(view, report);
  return view.text();
}

class DiffReportTest : public ::testing::Test {
 protected:
  DiffReport report() {
    DiffReport report;
    report.baseline = "before.json";
    DiffTest test;
    test.label = "after.json";
    test.environment = environment_differences(before_, after_);
    Matches matches = match_records(before_, after_);
    for (const auto& [baseline, other] : matches.pairs)
      report.comparisons.push_back(
          compare_records(*baseline, *other, {RunSpread{0, 1000}, std::nullopt, "a test"}));
    test.only_baseline = matches.only_baseline;
    test.only_test = matches.only_test;
    report.tests = {test};
    judge(report.comparisons, {});
    return report;
  }

  std::vector<Record> before_{timed("slow", 100, 40), timed("lone", 5, 0), timed("few", 7, 3),
                              timed("gone", 1, 9)};
  std::vector<Record> after_{timed("lone", 6, 0), timed("slow", 110, 40), timed("few", 7, 3),
                             timed("new", 1, 9)};
};

TEST_F(DiffReportTest, TellsValuesRatioAndVerdict) {
  const std::string text = diff_table(report()).text();
  EXPECT_THAT(text, ContainsRegex("slow +100 µs +110 µs +1\\.100 +1\\.0.. to 1\\.1.. +"
                                  "regression +40 unpaired"));
  EXPECT_THAT(text, ContainsRegex("lone +5\\.00 µs +6\\.00 µs +1\\.200 +\\? +inconclusive +1"));
  EXPECT_THAT(text, HasSubstr("at least 3 more samples for an interval"));
}

TEST_F(DiffReportTest, ColoursTheVerdicts) {
  before_ = {timed("slower", 100, 40), timed("faster", 100, 40), timed("few", 7, 3)};
  after_ = {timed("slower", 110, 40), timed("faster", 90, 40), timed("few", 7, 3)};
  const std::string text = diff_table(report()).text(0, true);
  EXPECT_THAT(text, HasSubstr(coloured("regression", Tone::kBad, true)));
  EXPECT_THAT(text, HasSubstr(coloured("improvement", Tone::kGood, true)));
}

TEST_F(DiffReportTest, AnswersWithTheLargestChangeInItsOwnWords) {
  const auto answer = [&](const char* metric, const char* unit, Direction direction, double after) {
    before_ = {timed("one", 100, 40)};
    after_ = {timed("one", after, 40)};
    for (Record* record : {&before_[0], &after_[0]}) record->metric = {metric, unit, direction, 0, {}, {}};
    View view;
    answer_diff(view, report());
    return view.text();
  };
  constexpr auto kLower = Direction::kLowerIsBetter, kHigher = Direction::kHigherIsBetter;
  EXPECT_THAT(answer("latency", "us", kLower, 200), HasSubstr("x slower"));
  EXPECT_THAT(answer("latency", "us", kLower, 50), HasSubstr("x faster"));
  EXPECT_THAT(answer("memory_bandwidth(GB/s)", "GB/s", kHigher, 50), HasSubstr("x slower"));
  EXPECT_THAT(answer("peak_memory", "B", kLower, 200), HasSubstr("x worse"));
  EXPECT_THAT(answer("peak_memory", "B", kLower, 50), HasSubstr("x better"));
}

TEST_F(DiffReportTest, CountsEachComparisonOnce) {
  after_[1].outcome = {Outcome::Kind::kFailed, "crashed"};
  View view;
  answer_diff(view, report());
  EXPECT_THAT(view.text(), HasSubstr("of 3 comparisons 2 are inconclusive, 1 failed\n"));
}

TEST_F(DiffReportTest, ListsWhatHasNoPartner) {
  const std::string text = diff_summary(report());
  EXPECT_THAT(text, HasSubstr("only in before.json (1):\n  gone native, latency\n"));
  EXPECT_THAT(text, HasSubstr("only in after.json (1):\n  new native, latency\n"));
  EXPECT_THAT(text, HasSubstr("geometric mean of 3 matched cases: 1.097"));
  EXPECT_THAT(text, HasSubstr("unpaired: separate runs"));
  EXPECT_THAT(text, HasSubstr("inconclusive, no samples"));
  EXPECT_THAT(text, HasSubstr("Benjamini-Hochberg"));
}

TEST_F(DiffReportTest, TellsModesAndTheirShares) {
  const auto slow_in_every = [](Record record, std::size_t period) {
    std::vector<double>& values = record.samples[0].values;
    for (std::size_t i = 0; i < values.size(); i += period) values[i] *= 1.3;
    return record;
  };
  before_ = {slow_in_every(timed("slow", 100, 150), 5)};
  after_ = {slow_in_every(timed("slow", 102, 150), 2)};
  EXPECT_THAT(
      diff_table(report()).text(),
      HasSubstr("    modes: 100 µs to 102 µs (1.020), from 80 to 50 % of the samples; 130 µs to 133 µs "
                "(1.021), from 20 to 50 %; the shares alone change the mean by a factor of 1.085 ("));
  EXPECT_THAT(diff_table(report()).text(), HasSubstr("150 modes"));
  EXPECT_THAT(diff_summary(report()), HasSubstr("modes: separate runs"));
  std::string text;
  write_diff_json(report(), [&](std::string_view piece) { text += piece; });
  EXPECT_THAT(text, HasSubstr("\"share_effect\""));
  before_ = {timed("slow", 100, 150)};
  EXPECT_THAT(
      diff_table(report()).text(),
      HasSubstr("    modes: baseline one group, candidate 102 µs in 50 % of the samples, 133 µs in 50 %: "));
}

TEST_F(DiffReportTest, SaysThatMachinesDiffer) {
  auto one = std::make_shared<Environment>(), other = std::make_shared<Environment>();
  one->fingerprint = "alpha";
  other->fingerprint = "beta";
  for (Record& record : before_) record.environment = one;
  EXPECT_THAT(answer_of(report()), Not(HasSubstr("different machines")));
  for (Record& record : after_) record.environment = other;
  EXPECT_THAT(answer_of(report()), HasSubstr("different machines: before.json and after.json"));
  EXPECT_THAT(environment_table(report()).text(), ContainsRegex("machine +alpha +beta"));
}

TEST_F(DiffReportTest, ShowsPercentilesOrThatThereAreNone) {
  DiffReport asked = report();
  EXPECT_EQ(percentile_table(asked).size(), 0u);
  asked.percentiles = {50, 95};
  const std::string text = percentile_table(asked).text();
  EXPECT_THAT(text, ContainsRegex("slow +latency +p50 +100 µs +110 µs +1\\.100 +1\\.... to 1\\."));
  EXPECT_THAT(text, ContainsRegex("few +latency +p95 .*undefined: too few samples"));
  EXPECT_THAT(text, Not(HasSubstr("lone")));
}

Record with_slow_ones(double slow) {
  Record record = timed("tail", 100, 240);
  std::vector<double>& values = record.samples[0].values;
  for (std::size_t i = 0; i < values.size(); i += 6) values[i] *= slow / 100;
  return record;
}

TEST_F(DiffReportTest, ShowsTheShiftOfEachCaseBelowASentence) {
  before_ = {timed("tail", 100, 240), timed("lone", 5, 0), timed("few", 7, 3)};
  after_ = {with_slow_ones(320), timed("lone", 6, 0), timed("few", 7, 3)};
  DiffReport asked = report();
  EXPECT_EQ(shift_table(asked).size(), 0u);
  asked.shift = true;
  const std::string text = shift_table(asked).text();
  EXPECT_THAT(text,
              ContainsRegex("tail, latency: the slowest tenth is 3\\.1. x slower \\(3\\... to 3\\...\\), "
                            "the median the same\n"));
  EXPECT_THAT(text, ContainsRegex("p10 +\\S+ µs +\\S+ µs +1\\.000 +\\S+ to \\S+ +same\n"));
  EXPECT_THAT(text, ContainsRegex("p90 +\\S+ µs +\\S+ µs +3\\.... +\\S+ to \\S+ +regression\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "few, latency: the slowest tenth is inconclusive (too few samples), the median inconclusive"));
  EXPECT_THAT(text, Not(HasSubstr("lone")));
}

TEST_F(DiffReportTest, AShiftOfRatesIsToldAtItsSlowEnd) {
  before_ = {with_slow_ones(30)};
  after_ = {timed("tail", 100, 240)};
  for (Record* record : {&before_[0], &after_[0]})
    record->metric = {"memory_bandwidth(GB/s)", "GB/s", Direction::kHigherIsBetter, 100, {}, {}};
  DiffReport asked = report();
  asked.shift = true;
  EXPECT_THAT(shift_table(asked).text(),
              ContainsRegex("the slowest tenth is 3\\.3. x faster .*, the median the same"));
  for (Record* record : {&before_[0], &after_[0]})
    record->metric = {"peak_memory", "B", Direction::kLowerIsBetter, 100, {}, {}};
  after_ = {timed("tail", 105, 240)};
  after_[0].metric = before_[0].metric;
  before_ = {timed("tail", 100, 240)};
  before_[0].metric = after_[0].metric;
  asked = report();
  asked.shift = true;
  EXPECT_THAT(
      shift_table(asked).text(),
      ContainsRegex("the worst tenth is 5\\.0. % worse \\(\\S+ to \\S+ %\\), the median 5\\.0. % worse"));
}

TEST_F(DiffReportTest, IsJsonWithNullsForWhatThereIsNot) {
  std::string text;
  write_diff_json(report(), [&text](std::string_view piece) { text += piece; });
  const Json json = parse_json(text, "the report");
  EXPECT_EQ(json["headroom_diff"]["schema"], 1);
  ASSERT_EQ(json["comparisons"].size(), 3u);
  const Json& slow = json["comparisons"][0];
  EXPECT_EQ(slow["verdict"], "regression");
  EXPECT_EQ(slow["estimator"], "unpaired");
  EXPECT_NEAR(slow["ratio"].get<double>(), 1.1, 1e-9);
  EXPECT_LT(slow["p"].get<double>(), 1e-3);
  EXPECT_TRUE(json["comparisons"][1]["low"].is_null());
  EXPECT_EQ(json["comparisons"][1]["verdict"], "inconclusive");
  EXPECT_EQ(json["comparisons"][1]["reason"], "no samples: one value each");
  EXPECT_EQ(json["tests"][0]["only_test"][0]["case"], "new");
  EXPECT_TRUE(json["gate"].is_null());
}

}  // namespace
}  // namespace headroom
