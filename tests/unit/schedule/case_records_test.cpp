// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/record/formats/seed_rows.h"
#include "headroom/record/noise.h"
#include "headroom/record/targets.h"
#include "headroom/schedule/case_records.h"
#include "headroom/schedule/group_run.h"
#include "headroom/schedule/track.h"

namespace headroom {
namespace {

using namespace testing;

/// In two processes of 20, with median `ns`.
std::vector<Reading> readings(double ns) {
  std::vector<Reading> made;
  for (std::uint32_t round = 0; round < 40; ++round) {
    made.push_back({round, round / 20, ns * (1 + 0.001 * (static_cast<int>(round * 7 % 5) - 2)), {}});
  }
  return made;
}

Track track_of(const std::string& backend, double ns, Work work) {
  Track track;
  track.planned.spec.experiment = "gemv";
  track.planned.spec.backend = backend;
  track.planned.spec.axes = {{"D", "64"}, {"dtype", "f32"}};
  track.planned.spec.threads = 2;
  track.planned.device = "cpu";
  track.info.work = std::move(work);
  track.iterations = 10;
  track.readings = readings(ns);
  track.pids = {11, 12};
  return track;
}

LimitTrack limit_of(Resource resource, double amount, double ns) {
  LimitTrack limit{resource, track_of("native", ns, {})};
  limit.track.planned.spec.experiment = resource == Resource::kPeak ? "limit.peak" : "limit.read";
  limit.track.planned.spec.axes = {{"pattern", "linear"}};
  (resource == Resource::kPeak ? limit.track.info.work.flops : limit.track.info.work.bytes) = amount;
  return limit;
}

std::vector<Record> records_of(GroupResult result) {
  result.stop = result.stop == StopReason::kNone ? StopReason::kPrecision : result.stop;
  return case_records(result, {"native"}, std::make_shared<Environment>());
}

const Record& named(const std::vector<Record>& records, const std::string& metric) {
  for (const Record& record : records) {
    if (record.metric.name == metric) return record;
  }
  throw std::out_of_range("no record of " + metric);
}

const Work kWork{.flops = 2e6, .bytes = 4e6, .dtype = "f32"};

GroupResult group_of(std::vector<Track> cases) {
  GroupResult result;
  result.cases = std::move(cases);
  return result;
}

GroupResult one_case(const Work& work = kWork) {
  return group_of({track_of("native", 1e6, work)});
}

TEST(CaseRecords, AxesHaveTheirDeclaredTypes) {
  GroupResult result = one_case();
  result.cases[0].planned.spec.axes = {{"flag", "True"}, {"mode", "0"}, {"share", "1"}, {"n", "0"}};
  result.cases[0].planned.spec.types = {AxisType::kAsWritten, AxisType::kText, AxisType::kReal};
  const AxisValues axes = records_of(result)[0].axes;
  EXPECT_EQ(axes[0].second.boolean(), true);
  EXPECT_TRUE(axes[1].second.is_ambiguous_text());
  EXPECT_TRUE(axes[2].second.number() && !axes[2].second.integer());
  EXPECT_EQ(axes[3].second.integer(), 0);
}

TEST(CaseRecords, ADeviceIsNamedAsTheCaseNamesIt) {
  GroupResult result = group_of({track_of("cuda", 1e6, kWork)});
  result.cases[0].planned.device = "cuda";
  result.cases[0].info.notes["gpu"] = "NVIDIA H200";
  const auto records = records_of(result);
  EXPECT_EQ(records[0].benchmark.extra_info.at("arch"), "NVIDIA H200");
  EXPECT_EQ(target_query(records[0]).device, "cuda");
  EXPECT_THAT(target_query(records[0]).device_name, HasSubstr("NVIDIA H200"));
}

TEST(CaseRecords, MetricsFollowFromTheTime) {
  GroupResult result = one_case();
  const auto records = records_of(result);
  ASSERT_THAT(records, SizeIs(3));
  const Record& latency = named(records, "latency");
  EXPECT_NEAR(latency.metric.value, 1000, 1e-9);
  EXPECT_EQ(latency.metric.unit, "us");
  EXPECT_EQ(latency.metric.direction, Direction::kLowerIsBetter);
  const Record& bandwidth = named(records, "memory_bandwidth(GB/s)");
  EXPECT_NEAR(bandwidth.metric.value, 4, 1e-9);
  EXPECT_TRUE(bandwidth.metric.headline);
  EXPECT_NEAR(named(records, "GFLOP/s").metric.value, 2, 1e-9);
  EXPECT_FALSE(latency.metric.headline);
  for (const Record& record : records) {
    EXPECT_EQ(record.model.name, "gemv");
    EXPECT_EQ(record.benchmark.dtype, "f32");
    EXPECT_EQ(record.runner, "native");
    EXPECT_EQ(record.caches, "hot") << "cold was asked for, and the inputs did not rotate";
    EXPECT_EQ(record.threads, 2);
    EXPECT_EQ(record.stop, StopReason::kPrecision);
    ASSERT_TRUE(record.interval);
    EXPECT_TRUE(record.interval->contains(record.metric.value));
    EXPECT_FALSE(record.limit);
  }
}

TEST(CaseRecords, OperationsOnIntegersAreNoFlops) {
  Work work = kWork;
  work.dtype = "int8";
  GroupResult result = group_of({track_of("native", 1e6, work)});
  result.cases[0].planned.metric = "GFLOP/s";
  const auto records = records_of(result);
  ASSERT_THAT(records, SizeIs(3));
  const Record& rate = named(records, "GOP/s");
  EXPECT_EQ(rate.metric.unit, "GOP/s");
  EXPECT_NEAR(rate.metric.value, 2, 1e-9);
  EXPECT_TRUE(rate.metric.headline) << "what the experiment declares is the same metric";
}

TEST(CaseRecords, EverySampleIsKeptWithItsProcess) {
  const Record latency = records_of(one_case({})).at(0);
  ASSERT_THAT(latency.samples, SizeIs(2));
  EXPECT_EQ(latency.samples[0].pid, 11);
  EXPECT_EQ(latency.samples[1].pid, 12);
  EXPECT_EQ(latency.samples[1].iterations, 10U);
  EXPECT_THAT(latency.samples[1].values, SizeIs(20));
  EXPECT_EQ(latency.samples[1].noise.size(), 20U);
  EXPECT_EQ(latency.samples[1].rounds.front(), 20U);
  EXPECT_NEAR(latency.samples[0].values[0], 998, 1e-9);
}

TEST(CaseRecords, WhatTheDriverSaidStandsBesideEachSample) {
  GroupResult result = one_case({});
  EXPECT_THAT(records_of(result).at(0).samples.at(0).device, IsEmpty());
  result.cases[0].readings[21].device = {1980, 3201, 412.5, 61, 0x4};
  const auto samples = records_of(result).at(0).samples;
  EXPECT_THAT(samples.at(0).device, IsEmpty());
  ASSERT_THAT(samples.at(1).device, SizeIs(20));
  EXPECT_EQ(samples[1].device[1], (DeviceNoise{1980, 3201, 412.5, 61, 0x4}));
}

TEST(CaseRecords, TheLimitIsOfTheSameRounds) {
  GroupResult result = one_case();
  // 10 bytes/ns take 4e5 ns: 40 %.
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5)};
  const auto records = records_of(result);
  const Record& latency = named(records, "latency");
  ASSERT_TRUE(latency.limit);
  EXPECT_EQ(limit_name(*latency.limit), "read linear, 2 threads");
  EXPECT_NEAR(latency.limit->fraction, 0.4, 1e-9);
  EXPECT_NEAR(latency.limit->value, 400, 1e-6);
  EXPECT_FALSE(latency.limit->unstable);
  EXPECT_NEAR(named(records, "memory_bandwidth(GB/s)").limit->value, 10, 1e-6);
}

TEST(CaseRecords, TheShareOfTheLimitHasQuartilesOverTheRounds) {
  GroupResult result = one_case();
  for (Reading& reading : result.cases[0].readings) reading.ns = reading.round % 4 == 0 ? 2e6 : 1e6;
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5)};
  for (Reading& reading : result.limits[0].track.readings) reading.ns = 1e5;
  const auto records = records_of(result);
  const auto& rounds = named(records, "latency").limit->rounds;
  ASSERT_TRUE(rounds);
  // A quarter of the rounds at 20 %, the others at 40 %.
  EXPECT_EQ(rounds->count, 40U);
  EXPECT_NEAR(rounds->upper_quartile, 0.4, 1e-9);
  EXPECT_NEAR(rounds->lower_quartile, 0.35, 0.05);
}

TEST(CaseRecords, FlopsUtilizationIsFlopsOverTimeOverPeak) {
  GroupResult result = one_case();
  result.cases[0].planned.metric = "flops_utilization";
  // 8 FLOPs per ns; the case makes 2.
  result.limits = {limit_of(Resource::kPeak, 8e5, 1e5)};
  const auto records = records_of(result);
  const Record& utilization = named(records, "flops_utilization");
  EXPECT_NEAR(utilization.metric.value, 0.25, 1e-9);
  EXPECT_TRUE(utilization.metric.headline);
  result.limits.clear();
  const auto without = records_of(result);
  EXPECT_TRUE(named(without, "memory_bandwidth(GB/s)").metric.headline)
      << "a headline there is, even where the peak was not sampled";
}

TEST(CaseRecords, TheHeadlineIsOfTheBoundThatBinds) {
  const auto headline = [](const GroupResult& result) {
    for (const Record& record : records_of(result)) {
      if (record.metric.headline)
        return std::pair(record.metric.name, record.limit ? record.limit->fraction : 0);
    }
    return std::pair(std::string(), 0.0);
  };
  GroupResult result = one_case();
  // 10 bytes/ns take 0.4 of the time; 2e6 FLOPs at 4 FLOPs/ns 0.5.
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5), limit_of(Resource::kPeak, 4e5, 1e5)};
  EXPECT_THAT(headline(result), Pair("GFLOP/s", DoubleNear(0.5, 1e-9)));
  // At 8 FLOPs/ns a quarter.
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5), limit_of(Resource::kPeak, 8e5, 1e5)};
  EXPECT_THAT(headline(result), Pair("memory_bandwidth(GB/s)", DoubleNear(0.4, 1e-9)));
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5), limit_of(Resource::kPeak, 4e5, 1e5)};
  result.cases[0].info.work.dtype = "int8";
  EXPECT_EQ(headline(result).first, "GOP/s");
  result.cases[0].planned.metric = "latency";
  EXPECT_EQ(headline(result).first, "latency") << "what an experiment declares stays";
}

TEST(CaseRecords, TheCasesOwnMetrics) {
  GroupResult result = one_case();
  result.cases[0].info.metrics = {
      {"token_per_sec", "tokens/s", Direction::kHigherIsBetter, ReportedMetric::Kind::kRate, 4},
      {"loss", "1", Direction::kLowerIsBetter, ReportedMetric::Kind::kValue, 0.5}};
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5)};
  const auto records = records_of(result);
  EXPECT_NEAR(named(records, "token_per_sec").metric.value, 4000, 1e-6);
  EXPECT_NEAR(named(records, "token_per_sec").limit->value, 10'000, 1e-3);
  EXPECT_EQ(named(records, "loss").metric.value, 0.5);
  EXPECT_FALSE(named(records, "loss").limit) << "no limit of the time bounds it";
}

TEST(CaseRecords, ColumnsHaveSamplesOfTheirOwn) {
  GroupResult result = one_case();
  using Kind = ReportedMetric::Kind;
  result.cases[0].info.metrics = {{"forward", "ns", Direction::kLowerIsBetter, Kind::kColumn, 0},
                                  {"loss", "1", Direction::kLowerIsBetter, Kind::kValue, 0.5},
                                  {"hits", "1", Direction::kHigherIsBetter, Kind::kColumn, 0}};
  for (Reading& reading : result.cases[0].readings)
    reading.columns = {reading.ns / 4, 7.0 + reading.round % 3};
  result.limits = {limit_of(Resource::kRead, 1e6, 1e5)};
  const auto records = records_of(result);
  const Record& forward = named(records, "forward");
  EXPECT_NEAR(forward.metric.value, 2.5e5, 1);
  EXPECT_EQ(forward.metric.unit, "ns");
  ASSERT_TRUE(forward.interval);
  EXPECT_LT(forward.interval->high, 2.51e5);
  ASSERT_THAT(forward.samples, SizeIs(2));
  EXPECT_EQ(forward.samples[1].rounds.front(), 20U);
  EXPECT_FALSE(forward.limit);
  EXPECT_EQ(named(records, "hits").metric.value, 8);
  EXPECT_EQ(named(records, "hits").metric.direction, Direction::kHigherIsBetter);
}

TEST(CaseRecords, MetricsThatStandBesideTheHeadlineAreMarkedBehindIt) {
  GroupResult result = one_case();
  result.cases[0].planned.metric = "token_per_sec";
  result.cases[0].planned.also_metrics = {"memory_bandwidth(GB/s)", "compilation_time(s)"};
  result.cases[0].planned.model = "Llama";
  result.cases[0].info.metrics = {
      {"token_per_sec", "tokens/s", Direction::kHigherIsBetter, ReportedMetric::Kind::kRate, 1},
      {"compilation_time(s)", "s", Direction::kLowerIsBetter, ReportedMetric::Kind::kValue, 9}};
  std::vector<std::string> marked;
  for (const Record& record : records_of(result)) {
    EXPECT_EQ(record.model.type, "OSS model");
    if (record.metric.headline) marked.push_back(record.metric.name);
  }
  EXPECT_THAT(marked, ElementsAre("token_per_sec", "memory_bandwidth(GB/s)", "compilation_time(s)"));
}

TEST(CaseRecords, OthersSayHowTheyStandToTheFirst) {
  GroupResult result = group_of({track_of("native", 1e6, kWork), track_of("reference", 3e6, kWork)});
  const auto records = records_of(result);
  ASSERT_THAT(records, SizeIs(6));
  EXPECT_FALSE(records[0].ratio);
  const auto& ratio = records[3].ratio;
  ASSERT_TRUE(ratio);
  EXPECT_NEAR(ratio->ratio, 3, 1e-9);
  EXPECT_EQ(ratio->pairs, 40U);
  EXPECT_EQ(ratio->other, "native@native");
  ASSERT_TRUE(ratio->interval);
  EXPECT_TRUE(ratio->interval->low <= 3 + 1e-9 && ratio->interval->high >= 3 - 1e-9);
}

TEST(CaseRecords, ACaseMayHaveABaselineOfItsOwn) {
  GroupResult result =
      group_of({track_of("native", 1e6, {}), track_of("old", 3e6, {}), track_of("new", 6e6, {})});
  result.cases[2].planned.baseline = 1;
  const auto records = records_of(result);
  EXPECT_NEAR(records[1].ratio->ratio, 3, 1e-9);
  EXPECT_NEAR(records[2].ratio->ratio, 2, 1e-9);
  EXPECT_EQ(records[2].ratio->other, "old@native");
  result.cases[1].info.wrong = "is wrong";
  EXPECT_NEAR(records_of(result)[2].ratio->ratio, 6, 1e-9)
      << "of a wrong answer there is no time to compare with";
}

TEST(CaseRecords, ACaseWithoutSamplesSaysWhy) {
  GroupResult result;
  result.stop = StopReason::kInterrupted;
  result.cases = {track_of("native", 1e6, {}), track_of("reference", 1e6, {})};
  for (Track& track : result.cases) track.readings.clear();
  result.cases[0].outcome = {Outcome::Kind::kFailed, "boom"};
  const auto records = records_of(result);
  ASSERT_THAT(records, SizeIs(2));
  EXPECT_EQ(records[0].outcome.reason, "boom");
  EXPECT_EQ(records[0].stop, StopReason::kNone);
  EXPECT_TRUE(records[0].metric.headline);
  EXPECT_THAT(records[0].samples, IsEmpty());
  EXPECT_EQ(records[1].outcome.kind, Outcome::Kind::kSkipped) << "measured it is not";
  EXPECT_THAT(records[1].outcome.reason, HasSubstr("interrupted"));
}

TEST(CaseRecords, ThePrecisionOfSumsStandsBesideTheErrorAndItsBound) {
  GroupResult result = one_case({});
  result.cases[0].info.max_error = 0.039;
  result.cases[0].info.tolerance = 0.25;
  result.cases[0].info.sums_in = Precision::kBf16;
  const Record record = records_of(result).at(0);
  EXPECT_EQ(record.sums_in, Precision::kBf16);
  EXPECT_EQ(record.max_error, 0.039);
  EXPECT_EQ(record.error_bound, 0.25);
  EXPECT_FALSE(record.kept_wrong);
}

TEST(CaseRecords, AWrongAnswerThatWasTimedHasItsNumbersAndHasFailed) {
  GroupResult result = group_of({track_of("native", 1e6, kWork), track_of("reference", 3e6, kWork)});
  result.cases[0].info.wrong = "wrong answer at index 1";
  std::vector<Record> records = records_of(result);
  ASSERT_THAT(records, SizeIs(6));
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(records[i].outcome.kind, Outcome::Kind::kFailed);
    EXPECT_EQ(records[i].outcome.reason, "wrong answer at index 1");
    EXPECT_TRUE(records[i].kept_wrong);
    EXPECT_FALSE(records[i].samples.empty());
  }
  EXPECT_EQ(records[0].ratio.value().other, "reference@native") << "the first that is right";
  EXPECT_FALSE(records[3].metric.extra_info.contains("ratio"));
  EXPECT_EQ(records[3].outcome.kind, Outcome::Kind::kMeasured);
  EXPECT_THAT(seed_rows(records), SizeIs(1)) << "no mean counts what is wrong";
}

TEST(CaseRecords, ALostCaseKeepsWhatItGave) {
  GroupResult result = one_case({});
  result.cases[0].outcome = {Outcome::Kind::kFailed, "the runner was killed"};
  const Record record = records_of(result).at(0);
  EXPECT_EQ(record.stop, StopReason::kRunnerLost);
  EXPECT_EQ(record.outcome.kind, Outcome::Kind::kFailed);
  EXPECT_NEAR(record.metric.value, 1000, 1e-9);
}

TEST(CaseRecords, TimesThatFallIntoGroupsAreTold) {
  GroupResult result = one_case({});
  for (Reading& reading : result.cases[0].readings) reading.ns *= reading.round % 4 < 2 ? 1 : 1.4;
  const Record latency = records_of(result).at(0);
  ASSERT_THAT(latency.modes.groups, SizeIs(2));
  EXPECT_NEAR(latency.modes.groups[0].median, 1000, 1e-6);
  EXPECT_NEAR(latency.modes.groups[1].median, 1400, 1e-6);
  EXPECT_NEAR(latency.modes.groups[1].share, 0.5, 1e-9);
}

TEST(NoiseNotes, AQuietCaseHasNone) {
  EXPECT_THAT(noise_notes(track_of("native", 1e6, {}), std::nullopt, StopReason::kPrecision), IsEmpty());
}

TEST(NoiseNotes, SayWhatTheKernelSaw) {
  Track track = track_of("native", 1e6, {});
  for (Reading& reading : track.readings) {
    reading.noise = {1.0, 2, 3, reading.round % 2 == 0 ? 2000.0 : 3000.0,
                     reading.round % 2 == 0 ? 50.0 : 150.0};
  }
  const auto notes = sentences(noise_notes(track, std::nullopt, StopReason::kMaxTime));
  EXPECT_THAT(
      notes, ElementsAre(HasSubstr("the hypervisor took 40 ms of 400 ms"),
                         HasSubstr("40 of 40 samples had involuntary"), HasSubstr("page faults: in 40 of 40"),
                         HasSubstr("between 2000 and 3000 MHz"), HasSubstr("core to core 50 to 150 ns"),
                         HasSubstr("time cap")));
}

TEST(NoiseNotes, SayWhatTheDriverSaw) {
  Track track = track_of("native", 1e6, {});
  for (Reading& reading : track.readings) {
    reading.device = {reading.round % 2 == 0 ? 1200.0 : 1980.0, 3201, 690, 80, 0x102};
  }
  EXPECT_THAT(sentences(noise_notes(track, std::nullopt, StopReason::kPrecision)),
              ElementsAre("device clock: between 1200 and 1980 MHz"));
  track.readings[3].device.throttle = 0x4;
  track.readings[4].device.throttle = 0x2c;
  EXPECT_THAT(sentences(noise_notes(track, std::nullopt, StopReason::kPrecision)),
              Contains("throttled: the device's clocks were held down in 2 of 40 samples (power cap in 2, "
                       "hardware slowdown in 1, software thermal slowdown in 1)"));
}

TEST(NoiseNotes, SayWhereTheResultIsInDoubt) {
  Track track = track_of("native", 1e6, {});
  for (Reading& reading : track.readings) {
    if (reading.epoch == 1) reading.ns *= 1.2;
  }
  for (std::size_t i = 20; i < 23; ++i) track.readings[i].ns *= 2;
  Limit limit;
  limit.fraction = 1.2;
  limit.interval = Interval{1.1, 1.3};
  limit.unstable = true;
  const auto notes = sentences(noise_notes(track, limit, StopReason::kPrecision));
  EXPECT_THAT(notes, Contains(HasSubstr("3 leading samples are kept")));
  EXPECT_THAT(notes, Contains(HasSubstr("processes differ")));
  EXPECT_THAT(notes, Contains(HasSubstr("limit unstable")));
  EXPECT_THAT(notes, Contains(HasSubstr("above its limit (120 %): the limit was held up, or its bytes")));
  limit.unstable = false;
  EXPECT_THAT(sentences(noise_notes(track, limit, StopReason::kPrecision)),
              Contains("above its limit (120 %): its bytes or FLOPs are counted wrong"));
}

TEST(CaseRecords, SayWhereACaseAndItsLimitLieInOtherPages) {
  const auto notes = [](std::optional<double> own, std::optional<double> its) {
    GroupResult result;
    result.cases = {track_of("native", 1000, {.bytes = 8000, .dtype = "f32"})};
    result.limits = {limit_of(Resource::kRead, 8000, 900)};
    result.limits[0].track.planned.spec.axes = {{"bytes", "8000"}, {"pattern", "linear"}};
    result.cases[0].info.huge_pages = own;
    result.limits[0].track.info.huge_pages = its;
    return sentences(records_of(std::move(result)).front().notes);
  };
  const auto says =
      Contains(HasSubstr("pages: 0 % of its inputs and outputs lies in huge pages, 100 % of those"));
  EXPECT_THAT(notes(0, 1), says);
  EXPECT_THAT(notes(1, 0), Contains(HasSubstr("pages: 100 %")));
  using Share = std::optional<double>;
  for (const auto& [own, its] : {std::pair<Share, Share>(1, 0.97), std::pair<Share, Share>(0, 0.004),
                                 std::pair<Share, Share>(0, {}), std::pair<Share, Share>({}, 0)})
    EXPECT_THAT(notes(own, its), Not(Contains(HasSubstr("pages:"))));
}

TEST(Series, WarmUpIsLeftOutByProcess) {
  std::vector<Reading> readings;
  for (std::uint32_t epoch = 0; epoch < 2; ++epoch) {
    for (std::uint32_t i = 0; i < 20; ++i) {
      const double warm = epoch == 1 && i < 3 ? 50 : 0;
      readings.push_back({epoch * 20 + i, epoch, 100 + warm + (i % 2), {}});
    }
  }
  EXPECT_THAT(warmup_by_process(readings), ElementsAre(0, 3));
  const Series series = steady_series(readings);
  EXPECT_THAT(series.group_sizes, ElementsAre(20, 17));
  EXPECT_EQ(series.values.size(), 37U);
  EXPECT_EQ(series.rounds.at(20), 23U);
}

Track track_of(std::initializer_list<double> ns) {
  Track track;
  for (const double one : ns) {
    track.readings.push_back({static_cast<std::uint32_t>(track.readings.size()), 0, one, {}});
  }
  return track;
}

TEST(Series, TheWidestIntervalOfTheCasesThatAreAlive) {
  const Track steady = track_of({10, 10.1, 10, 10.2, 10, 10.1, 10, 10.1});
  const Track noisy = track_of({10, 13, 11, 9, 12, 10, 14, 8});
  Track failed = track_of({10});
  failed.outcome.kind = Outcome::Kind::kFailed;
  const auto alone = worst_half_width(half_widths(std::vector{steady, failed}));
  const auto both = worst_half_width(half_widths(std::vector{steady, noisy}));
  ASSERT_TRUE(alone && both);
  EXPECT_LT(*alone, 0.02);
  EXPECT_GT(*both, 0.1);
  EXPECT_FALSE(worst_half_width(half_widths(std::vector{steady, track_of({10})})))
      << "one reading has no interval";
}

TEST(Series, TheRecentMedianForgetsTheFirstReadings) {
  Track track = track_of({1000, 1000, 1000});
  EXPECT_EQ(recent_median_ns(track.readings), 1000);
  for (std::uint32_t i = 3; i < 40; ++i) track.readings.push_back({i, 0, 7, {}});
  EXPECT_EQ(recent_median_ns(track.readings), 7);
  EXPECT_FALSE(recent_median_ns({}));
}

TEST(Series, ProcessesShareTheSamplesAndTheTime) {
  const StopRule rule{
      .precision = 0.01, .min_samples = 31, .min_time_ns = 8, .max_time_ns = 40, .max_samples = 2};
  const StopRule share = process_share(rule, 4);
  EXPECT_DOUBLE_EQ(share.precision, 0.02);
  EXPECT_EQ(share.min_samples, 8U);
  EXPECT_EQ(share.max_samples, 1U);
  EXPECT_EQ(share.min_time_ns, 2);
  EXPECT_EQ(share.max_time_ns, 10);
}

}  // namespace
}  // namespace headroom
