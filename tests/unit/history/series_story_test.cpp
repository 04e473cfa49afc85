// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/series_story.h"

#include <gmock/gmock.h>

#include "headroom/report/history_table.h"
#include "store_fixture.h"

namespace headroom::test {
namespace {

using testing::HasSubstr;
using testing::Not;

StoredSeries latency() {
  StoredSeries series;
  series.id = 3;
  series.name = "gemv D=64 native cpu 2t";
  series.metric = "latency";
  series.unit = "us";
  series.fingerprint = "machine-a";
  return series;
}

/// 10 with a little noise, `factor` times as much from `change` on.
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

TEST(SeriesStory, ChangeIsPlacedMeasuredAndExplained) {
  const SeriesStory story = series_story(latency(), values(40, 20, 1.1), environment_of);
  ASSERT_EQ(story.segments.size(), 2u);
  const SeriesSegment& after = story.segments[1];
  EXPECT_EQ(after.first, 20u);
  EXPECT_EQ(after.last, 39u);
  ASSERT_TRUE(after.ratio && after.ratio_interval);
  EXPECT_NEAR(*after.ratio, 1.1, 1e-3);
  EXPECT_TRUE(after.ratio_interval->contains(1.1));
  EXPECT_THAT(after.changes, testing::UnorderedElementsAre("git revision: aaaaaaaa -> bbbbbbbb",
                                                           "governor: powersave -> performance"));
  const std::string text = series_text(story);
  EXPECT_THAT(text, HasSubstr("series 3: gemv D=64 native cpu 2t, latency"));
  EXPECT_THAT(text, HasSubstr("machine machine-a, lower is better"));
  EXPECT_THAT(text, HasSubstr("@120 .. @139"));
  EXPECT_THAT(text, HasSubstr("+10."));
  EXPECT_THAT(text, HasSubstr("worse"));
  EXPECT_THAT(text, HasSubstr("1 change found"));
}

TEST(SeriesStory, HigherIsBetterTurnsTheVerdict) {
  StoredSeries bandwidth = latency();
  bandwidth.direction = Direction::kHigherIsBetter;
  EXPECT_THAT(series_text(series_story(bandwidth, values(40, 20, 1.1), environment_of)), HasSubstr("better"));
}

TEST(SeriesStory, NothingInTheEnvironmentChanged) {
  const SeriesStory story =
      series_story(latency(), values(40, 20, 1.1), [](std::int64_t) { return *environment_at(1); });
  EXPECT_THAT(series_text(story), HasSubstr("nothing that the environment tells changed here"));
}

TEST(SeriesStory, SteadyShortAndEmptySeries) {
  EXPECT_THAT(series_text(series_story(latency(), values(40, 40, 1), environment_of)),
              HasSubstr("no change found"));
  const std::string few = series_text(series_story(latency(), values(5, 5, 1), environment_of));
  EXPECT_THAT(few, HasSubstr("5 values are too few"));
  EXPECT_THAT(few, Not(HasSubstr("no change found")));
  EXPECT_THAT(series_text(series_story(latency(), {}, environment_of)), HasSubstr("no value was measured"));
}

TEST(SeriesStory, FewNewValuesAreOnlySuspected) {
  const SeriesStory story = series_story(latency(), values(60, 55, 1.1), environment_of);
  EXPECT_EQ(story.segments.size(), 1u);
  EXPECT_THAT(series_text(story), HasSubstr("perhaps a change at @155"));
  EXPECT_EQ(series_json(story)["suspected_at_run"], 155);
}

TEST(SeriesStory, Json) {
  const Json json = series_json(series_story(latency(), values(40, 20, 0.5), environment_of));
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
  EXPECT_THAT(series_table({latency()}, {{3, {7, 1, 1790000000}}}).text(), HasSubstr("7  2026-09-21 14:13"));
}

}  // namespace
}  // namespace headroom::test
