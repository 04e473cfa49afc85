// SPDX-License-Identifier: Apache-2.0
#include "headroom/history/series_analysis.h"

#include <gmock/gmock.h>

#include "store_fixture.h"

namespace headroom::test {
namespace {

using namespace testing;

StoredSeries latency() {
  StoredSeries series;
  series.id = 3;
  series.name = "gemv D=64 native cpu 2t";
  series.metric = "latency";
  series.unit = "us";
  series.fingerprint = "machine-a";
  return series;
}

std::vector<StoredValue> values(std::size_t count, std::size_t change, double factor) {
  std::vector<StoredValue> all;
  for (std::size_t i = 0; i < count; ++i) {
    StoredValue value;
    value.value = (10 + 0.01 * static_cast<double>((i * 7) % 11)) * (i < change ? 1 : factor);
    value.run = static_cast<std::int64_t>(i) + 100;
    value.time = 1790000000 + 3600 * i;
    all.push_back(value);
  }
  return all;
}

Environment environment_of(std::int64_t run) {
  Environment environment = *environment_at(1, "machine-a", run < 120 ? "aaaaaaaa" : "bbbbbbbb");
  environment.governor = run < 120 ? "powersave" : "performance";
  return environment;
}

TEST(SeriesAnalysis, ChangeIsPlacedMeasuredAndExplained) {
  const SeriesAnalysis analysis = series_analysis(latency(), values(40, 20, 1.1), environment_of);
  ASSERT_EQ(analysis.segments.size(), 2u);
  const SeriesSegment& after = analysis.segments[1];
  EXPECT_EQ(after.first, 20u);
  EXPECT_EQ(after.last, 39u);
  ASSERT_TRUE(after.ratio && after.ratio_interval);
  EXPECT_NEAR(*after.ratio, 1.1, 1e-3);
  EXPECT_TRUE(after.ratio_interval->contains(1.1));
  EXPECT_THAT(after.changes, UnorderedElementsAre("git revision: aaaaaaaa -> bbbbbbbb",
                                                  "governor: powersave -> performance"));
  const std::string text = series_view(analysis).text();
  EXPECT_THAT(text, HasSubstr("series 3: gemv D=64 native cpu 2t, latency"));
  EXPECT_THAT(text, HasSubstr("machine machine-a, lower is better"));
  EXPECT_THAT(text, HasSubstr("@120 .. @139"));
  EXPECT_THAT(text, HasSubstr("+10."));
  EXPECT_THAT(text, HasSubstr("worse"));
  EXPECT_THAT(text, HasSubstr("1 change found"));
}

TEST(SeriesAnalysis, HigherIsBetterTurnsTheVerdict) {
  StoredSeries bandwidth = latency();
  bandwidth.direction = Direction::kHigherIsBetter;
  EXPECT_THAT(series_view(series_analysis(bandwidth, values(40, 20, 1.1), environment_of)).text(),
              HasSubstr("better"));
}

TEST(SeriesAnalysis, NothingInTheEnvironmentChanged) {
  const SeriesAnalysis analysis =
      series_analysis(latency(), values(40, 20, 1.1), [](std::int64_t) { return *environment_at(1); });
  EXPECT_THAT(series_view(analysis).text(), HasSubstr("no change in the recorded environment"));
}

TEST(SeriesAnalysis, SteadyShortAndEmptySeries) {
  EXPECT_THAT(series_view(series_analysis(latency(), values(40, 40, 1), environment_of)).text(),
              HasSubstr("no change found"));
  const std::string few = series_view(series_analysis(latency(), values(5, 5, 1), environment_of)).text();
  EXPECT_THAT(few, HasSubstr("5 values are too few"));
  EXPECT_THAT(few, Not(HasSubstr("no change found")));
  EXPECT_THAT(series_view(series_analysis(latency(), {}, environment_of)).text(),
              HasSubstr("no value was measured"));
}

TEST(SeriesAnalysis, FewNewValuesAreOnlySuspected) {
  const SeriesAnalysis analysis = series_analysis(latency(), values(30, 27, 1.1), environment_of);
  EXPECT_EQ(analysis.segments.size(), 1u);
  const std::string text = series_view(analysis).text();
  EXPECT_THAT(text, HasSubstr("possible change at @127"));
  EXPECT_THAT(text, HasSubstr("compare @126 with a new run"));
  EXPECT_EQ(series_json(analysis)["suspected_at_run"], 127);
}

TEST(SeriesAnalysis, Json) {
  const Json json = series_json(series_analysis(latency(), values(40, 20, 0.5), environment_of));
  EXPECT_EQ(json["values"].size(), 40u);
  ASSERT_EQ(json["segments"].size(), 2u);
  EXPECT_EQ(json["segments"][1]["first_run"], 120);
  EXPECT_EQ(json["segments"][1]["verdict"], "better");
  EXPECT_TRUE(json["segments"][0]["interval"].is_object());
  EXPECT_TRUE(json["suspected_at_run"].is_null());
}

TEST(HistoryTable, TimesAreUtc) {
  EXPECT_EQ(format_utc(1790000000), "2026-09-21 14:13");
  EXPECT_EQ(format_utc(0), "(unknown)");
}

TEST(HistoryTable, RunsAndSeries) {
  StoredRun run;
  run.id = 12;
  run.time = 1790000000;
  run.git_sha = "0123456789abcdef";
  run.git_branch = "main";
  run.command = std::string(100, 'x');
  const std::string runs = runs_table({run}).text();
  EXPECT_THAT(runs, HasSubstr("@12"));
  EXPECT_THAT(runs, HasSubstr("0123456789ab main"));
  EXPECT_THAT(runs, HasSubstr("(unknown)"));
  EXPECT_THAT(runs, Not(HasSubstr(std::string(70, 'x'))));
  const std::vector<SeriesAnalysis> analyses{series_analysis(latency(), values(40, 20, 1.1), environment_of),
                                             series_analysis(latency(), values(7, 7, 1), environment_of)};
  const std::string table = series_table(analyses).text();
  EXPECT_THAT(table, HasSubstr("40  2026-09-23 05:13  2026-09-22 10:13 @120  +10.1 % ("));
  EXPECT_THAT(table, HasSubstr("too few values"));
  const Json list = series_list_json(analyses);
  EXPECT_EQ(list[0]["last_change"]["run"], 120);
  EXPECT_EQ(list[0]["last_change"]["verdict"], "worse");
  EXPECT_TRUE(list[1]["last_change"].is_null());
}

TEST(LastChange, SentenceNamesWhatChangedNewestFirst) {
  StoredSeries other = latency();
  other.name = "layer_norm";
  const std::vector<SeriesAnalysis> analyses{series_analysis(latency(), values(40, 20, 1.1), environment_of),
                                             series_analysis(other, values(40, 30, 0.5), environment_of),
                                             series_analysis(other, values(40, 40, 1), environment_of)};
  EXPECT_THAT(changes_sentence(analyses),
              MatchesRegex("2 of 3 series changed: layer_norm latency at @130, -50.0 % .* better; "
                           "gemv D=64 native cpu 2t latency at @120, .10.1 % .* worse"));
  EXPECT_EQ(changes_sentence(std::span(analyses).last(1)), "none of 1 series changed");
}

TEST(LastChange, RegressionCountsWhereItIsRecentAndBad) {
  const auto answer = [](std::size_t count, std::size_t change, double factor, std::size_t newest) {
    const SeriesAnalysis analysis = series_analysis(latency(), values(count, change, factor), environment_of);
    return regression_answer({&analysis, 1}, newest).exit;
  };
  EXPECT_EQ(answer(40, 30, 1.1, 10), ExitCode::kFailure);
  EXPECT_EQ(answer(40, 30, 1.1, 9), ExitCode::kSuccess);
  EXPECT_EQ(answer(40, 30, 0.9, 10), ExitCode::kSuccess);
  EXPECT_EQ(answer(40, 40, 1, 10), ExitCode::kSuccess);
  EXPECT_EQ(answer(13, 13, 1, 10), ExitCode::kInconclusive);
}

TEST(LastChange, ADriftToTheWorseGoesOn) {
  std::vector<StoredValue> rising = values(60, 60, 1);
  for (std::size_t i = 0; i < rising.size(); ++i) rising[i].value *= 1 + 0.002 * static_cast<double>(i);
  const SeriesAnalysis analysis = series_analysis(latency(), rising, environment_of);
  const auto change = last_change(analysis);
  ASSERT_TRUE(change && change->drifts && change->worse);
  EXPECT_THAT(last_change_text(analysis, *change), HasSubstr("drifts by +11.8 % over 60 values, worse"));
  EXPECT_THAT(series_view(analysis).text(), HasSubstr("drifts by +11.8 %"));
  EXPECT_EQ(regression_answer({&analysis, 1}, 1).exit, ExitCode::kFailure);
  EXPECT_FALSE(last_change(series_analysis(latency(), rising, environment_of, 0.2)));
}

TEST(SeriesAnalysis, LeastMagnitudeAndSpread) {
  EXPECT_EQ(series_analysis(latency(), values(40, 20, 1.1), environment_of, 0.2).segments.size(), 1u);
  std::vector<StoredValue> wider = values(100, 100, 1);
  for (std::size_t i = 60; i < 100; ++i) wider[i].value = 10.05 + 6 * (wider[i].value - 10.05);
  const SeriesAnalysis analysis = series_analysis(latency(), wider, environment_of);
  ASSERT_EQ(analysis.spreads.size(), 1u);
  EXPECT_THAT(series_view(analysis).text(), HasSubstr("times the earlier one from @16"));
  EXPECT_GT(json_number(series_json(analysis)["spread_changes"][0], "ratio", ""), 3);
}

TEST(ChangeWord, KnowsWhichWayIsWorseOrThatNobodyKnows) {
  EXPECT_STREQ(change_word(2, Direction::kLowerIsBetter), "worse");
  EXPECT_STREQ(change_word(2, Direction::kHigherIsBetter), "better");
  EXPECT_STREQ(change_word(0.5, Direction::kHigherIsBetter), "worse");
  EXPECT_STREQ(change_word(2, Direction::kUnknown), "changed");
  EXPECT_FALSE(is_worse(2, Direction::kUnknown));
  EXPECT_FALSE(is_worse(0.5, Direction::kUnknown));
}

}  // namespace
}  // namespace headroom::test
