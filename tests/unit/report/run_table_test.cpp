// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/base/text.h"
#include "headroom/record/metrics.h"
#include "headroom/record/targets.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/counted_work.h"
#include "headroom/report/metric_text.h"
#include "headroom/report/roofline.h"
#include "headroom/report/run_view.h"
#include "headroom/report/text_plot.h"
#include "headroom/tables/width.h"

namespace headroom {
namespace {

using namespace testing;

std::vector<Record> pair_of(const std::string& experiment, const std::string& shape, const std::string& dtype,
                            double us, double rate, double fraction) {
  Record latency;
  latency.model.name = experiment;
  latency.model.backend = "native";
  latency.runner = "native";
  latency.device = "cpu";
  latency.benchmark.dtype = dtype;
  latency.axes = {{"D", shape}, {"dtype", dtype}};
  latency.metric = {"latency", "us", Direction::kLowerIsBetter, us, {}, {}};
  latency.interval = Interval{us * 0.99, us * 1.01, 0.95};
  latency.samples = {{1, 10, 2, std::vector<double>(30, us), {}, {}},
                     {2, 10, 0, std::vector<double>(20, us), {}, {}}};
  latency.limit = Limit{{{"read", 1 << 20, "linear", "", 2}},
                        us * fraction,
                        fraction,
                        Interval{fraction - 0.01, fraction + 0.01, 0.95},
                        false};
  latency.stop = StopReason::kPrecision;
  Record headline = latency;
  headline.metric = {"memory_bandwidth(GB/s)", "GB/s", Direction::kHigherIsBetter, rate, {}, {}, true};
  headline.interval = Interval{rate * 0.99, rate * 1.01, 0.95};
  headline.limit->value = rate / fraction;
  return {latency, headline};
}

std::vector<Record> operator+(std::vector<Record> a, const std::vector<Record>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

TEST(RunTable, MergesTheRecordsOfACase) {
  std::vector<Record> records =
      pair_of("gemv", "1024", "bf16", 110, 19, 0.925) + pair_of("gemv", "4096", "int8", 1250, 13.4, 0.61);
  apply_targets(records, std::vector<Target>{
                             {"gemv", "", "bf16", "cpu", Target::Kind::kShareOfLimit, 0.8},
                             {"gemv", "memory_bandwidth(GB/s)", "int8", "cpu", Target::Kind::kValue, 870}});
  EXPECT_EQ(run_table(records).text(),
            "native, 48 samples\n"
            "case         dtype     time  ± 95 %     metric     of limit      target\n"
            "───────────────────────────────────────────────────────────────────────\n"
            "gemv D=1024  bf16    110 µs   1.0 %  19.0 GB/s  92.5 % ±1.0   80.0 % ok\n"
            "gemv D=4096  int8   1.25 ms   1.0 %  13.4 GB/s  61.0 % ±1.0  870 missed\n");
  EXPECT_EQ(flag_letters(case_flags(records[0])), "W");
  EXPECT_EQ(run_legend(records), "") << "the estimate leaves the warm-up out";
}

TEST(RunTable, FitsATerminalForTypicalRows) {
  std::vector<Record> records = pair_of("mlp_layer_norm_gelu", "16384", "bf16", 123456, 123, 0.925);
  records[1].metric.name = "flops_utilization";
  records[1].metric.unit = "1";
  records[1].metric.value = 0.412;
  apply_targets(records, std::vector<Target>{
                             {"mlp_layer_norm_gelu", "", "", "cpu", Target::Kind::kShareOfLimit, 0.95}});
  const std::string text = run_table(records).text();
  EXPECT_THAT(text, HasSubstr("0.412 of peak"));
  for (const std::string& line : split(text, '\n')) EXPECT_LE(display_width(line), 115U) << line;
}

TEST(RunTable, WhereACaseWasTracedOnAGpuTwoColumnsSayHowBusyItWas) {
  std::vector<Record> traced = pair_of("gemv", "1024", "bf16", 110, 19, 0.925);
  for (const auto& [metric, value] :
       {std::pair{kGpuUtilization, 0.875}, std::pair{kMmConvUtilization, 0.0}}) {
    Record share = traced.front();
    share.metric = {metric, "1", Direction::kHigherIsBetter, value, {}, {}};
    share.limit.reset();
    traced.push_back(share);
  }
  const std::vector<Record> records = traced + pair_of("scale", "4096", "f32", 1250, 13.4, 0.61);
  EXPECT_EQ(run_table(records).text(),
            "native, 48 samples\n"
            "case          dtype     time  ± 95 %     metric     of limit     GPU  mm+conv\n"
            "─────────────────────────────────────────────────────────────────────────────\n"
            "gemv D=1024   bf16    110 µs   1.0 %  19.0 GB/s  92.5 % ±1.0  87.5 %      0 %\n"
            "scale D=4096  f32    1.25 ms   1.0 %  13.4 GB/s  61.0 % ±1.0\n");
  EXPECT_THAT(run_legend(records), HasSubstr("time without recording"));
  EXPECT_THAT(run_legend(pair_of("gemv", "1024", "bf16", 110, 19, 0.9)), Not(HasSubstr("recording")));
}

TEST(RunTable, ShowsWhyACaseHasNoNumbers) {
  std::vector<Record> records = pair_of("gemv", "1024", "bf16", 110, 19, 0.9);
  records.resize(1);
  records[0].outcome = {Outcome::Kind::kSkipped, "needs 256 GiB, 29 GiB are available"};
  const std::string text = run_table(records).text();
  EXPECT_THAT(text, HasSubstr("gemv D=1024  skipped\n    needs 256 GiB, 29 GiB are available\n"));
  records[0].outcome = {Outcome::Kind::kFailed, "killed by signal 11\nlast line"};
  EXPECT_THAT(run_table(records).text(), HasSubstr("failed\n    killed by signal 11 last line\n"));
  EXPECT_EQ(run_legend(records), "");
}

TEST(RunTable, SaysWhatSumsInLessThanF32WithItsErrorAndBound) {
  std::vector<Record> records = pair_of("gemv", "1024", "bf16", 110, 19, 0.9);
  for (Record& record : records) {
    record.max_error = 0.0388;
    record.error_bound = 0.2549;
    record.sums_in = Precision::kF32;
  }
  EXPECT_THAT(run_table(records).text(), Not(HasSubstr("sums in")));
  for (Record& record : records) record.sums_in = Precision::kBf16;
  EXPECT_THAT(run_table(records).text(), HasSubstr("    sums in bf16, error 0.039 (bound 0.25)\n"));
}

TEST(RunTable, AWrongAnswerThatWasTimedIsMarkedAndReachesNoTarget) {
  std::vector<Record> records = pair_of("gemv", "1024", "bf16", 110, 19, 0.9);
  for (Record& record : records) {
    record.outcome = {Outcome::Kind::kFailed, "wrong answer at index 1 of 2"};
    record.kept_wrong = true;
  }
  apply_targets(records, std::vector<Target>{{"gemv", "", "bf16", "cpu", Target::Kind::kShareOfLimit, 0.8}});
  const std::string text = run_table(records).text();
  EXPECT_THAT(text, HasSubstr("110 µs"));
  EXPECT_THAT(text, HasSubstr("    WRONG: wrong answer at index 1 of 2\n"));
  EXPECT_THAT(text, HasSubstr("90.0 % ±1.0  X\n"));
  EXPECT_THAT(run_legend(records), HasSubstr("  X  the answer is wrong"));
  EXPECT_EQ(mean_table(records).size(), 0U);
}

TEST(RunTable, AShareOfWhichNothingIsKnownHasNoDigitsOfIt) {
  std::vector<Record> records = pair_of("gemv", "1024", "bf16", 110, 19, 0.0235);
  for (Record& record : records)
    if (record.limit) record.limit->interval = Interval{0.001, 45.3};
  EXPECT_THAT(run_table(records).text(), HasSubstr("2.35 % ±>999"));
}

TEST(RunTable, PutsBackendsOfACaseTogetherWithTheirRatio) {
  std::vector<Record> first = pair_of("gemv", "1", "int8", 100, 20, 0.9);
  std::vector<Record> other = pair_of("gemv", "2", "int8", 300, 20, 0.9);
  std::vector<Record> reference = pair_of("gemv", "1", "int8", 200, 10, 0.45);
  for (Record& record : reference) record.model.backend = "reference";
  reference[0].ratio = RatioToOther{2.0, Interval{1.98, 2.015, 0.95}, 30, "native"};
  const std::string text = run_table(first + other + reference).text();
  const std::size_t native = text.find("gemv D=1  native"), slow = text.find("gemv D=1  reference"),
                    ratio = text.find("    2.000 x the time of native (95 % interval 1.980 to 2.015)\n"),
                    next = text.find("gemv D=2");
  ASSERT_NE(ratio, std::string::npos) << text;
  EXPECT_LT(native, slow);
  EXPECT_LT(slow, ratio);
  EXPECT_LT(ratio, next);
  reference[0].ratio->interval.reset();
  EXPECT_THAT(run_table(reference).text(), HasSubstr("(too few pairs for an interval)"));
}

TEST(RunTable, NamesTheRunnerOnlyWhereThereAreSeveral) {
  std::vector<Record> records = pair_of("gemv", "1", "int8", 100, 20, 0.9);
  EXPECT_THAT(run_table(records).text(), Not(HasSubstr("[")));
  std::vector<Record> build_b = records;
  for (Record& record : build_b) record.runner = "b/headroom-native";
  const std::string text = run_table(records + build_b).text();
  EXPECT_THAT(text, HasSubstr("native [b/headroom-native]"));
  EXPECT_EQ(case_rows(records + build_b).size(), 2U);
}

TEST(RunTable, SaysWhatMeasuringCostsWhereThatIsNoSmallPart) {
  const auto text_with = [](double overhead_ns, bool is_taken_off) {
    std::vector<Record> records = pair_of("gemv", "1", "int8", 1, 20, 0.9);
    Record overhead = records[0];
    overhead.metric = {kPythonOverhead, "ns", Direction::kLowerIsBetter, overhead_ns, {}, {}};
    overhead.interval.reset();
    auto environment = std::make_shared<Environment>();
    if (is_taken_off) environment->extra_info[kOverheadTakenOff] = "yes";
    records.push_back(overhead);
    for (Record& record : records) record.environment = environment;
    return run_table(records).text();
  };
  EXPECT_THAT(text_with(49, false), Not(HasSubstr("calling it from Python")));
  EXPECT_THAT(text_with(51, false), HasSubstr("calling it from Python costs 51.0 ns"));
  EXPECT_THAT(text_with(51, false), HasSubstr("--subtract-overhead subtracts it"));
  EXPECT_THAT(text_with(51, true), HasSubstr("already subtracted"));
}

TEST(RunTable, NamesCachesAndThreadsOnlyWhereTheyDiffer) {
  std::vector<Record> cold = pair_of("gemv", "1", "int8", 100, 20, 0.9), hot = cold;
  for (Record& record : cold) record.caches = "cold";
  EXPECT_THAT(run_table(cold).text(), Not(HasSubstr("cold")));
  for (Record& record : hot) {
    record.caches = "hot";
    record.threads = 2;
  }
  const std::string text = run_table(cold + hot).text();
  EXPECT_THAT(text, HasSubstr("gemv D=1 cold"));
  EXPECT_THAT(text, HasSubstr("gemv D=1 hot 2 threads"));
}

TEST(RunTable, TakesARecordWithoutALatencyOrAnInterval) {
  std::vector<Record> records = pair_of("decode", "1", "bf16", 1, 12.5, 0.5);
  records.erase(records.begin());
  records[0].metric.name = "token_per_sec";
  records[0].metric.unit = "tokens/s";
  records[0].interval.reset();
  records[0].limit.reset();
  EXPECT_THAT(run_table(records).text(), HasSubstr("native, bf16, 48 samples\n"));
  EXPECT_THAT(run_table(records).text(), HasSubstr("  12.5 tokens/s"));
}

TEST(RunTable, AHeadlineThatIsTheLatencyIsNotShownTwice) {
  std::vector<Record> records = pair_of("gemv", "1", "int8", 100, 20, 0.9);
  records.resize(1);
  records[0].metric.headline = true;
  const std::string text = run_table(records).text();
  EXPECT_EQ(text.find("100 µs"), text.rfind("100 µs"));
}

std::string first_line(const std::vector<Record>& records) {
  const std::string text = run_view(records).text();
  return text.substr(0, text.find('\n'));
}

TEST(RunView, SaysHowManyReachTheirTargetAndWhatIsFurthestFromItsLimit) {
  std::vector<Record> records =
      pair_of("gemv", "1024", "bf16", 110, 19, 0.925) + pair_of("gemv", "4096", "int8", 1250, 13.4, 0.25);
  apply_targets(records, std::vector<Target>{{"gemv", "", "", "cpu", Target::Kind::kShareOfLimit, 0.8}});
  EXPECT_EQ(run_view(records).answers(),
            (std::vector<std::string>{"2 cases: 1 misses its target, 1 reaches its target",
                                      "gemv D=4096 int8 is furthest from its limit: 25.0 % ±1.0"}));
  records[3].limit->interval = Interval{0.2, 0.95, 0.95};
  EXPECT_THAT(run_view(records).text(), HasSubstr("(1 more is not significantly closer)"));
}

TEST(RunView, CountsCasesWithoutATargetByTheirLimit) {
  std::vector<Record> records =
      pair_of("gemv", "1", "int8", 100, 20, 0.95) + pair_of("gemv", "2", "int8", 300, 20, 0.5);
  EXPECT_EQ(first_line(records), "2 cases: 1 at the limit (90 % or more), 1 below 90 % of the limit");
  for (Record& record : records) record.limit->interval = Interval{0.4, 0.99, 0.95};
  EXPECT_EQ(first_line(records), "2 cases: 2 inconclusive");
  for (Record& record : records) record.limit->interval.reset();
  EXPECT_EQ(first_line(records), "2 cases: 2 inconclusive") << "no claim without an interval";
  records.resize(2);
  EXPECT_EQ(first_line(records), "gemv D=1 reaches 95.0 % of its limit, read 1 MiB linear, 2 threads");
}

TEST(RunView, CountsEachCaseOnce) {
  std::vector<Record> records =
      pair_of("gemv", "1", "int8", 100, 20, 0.95) + pair_of("mlp", "2", "int8", 300, 20, 0.5) +
      pair_of("mlp", "3", "int8", 300, 20, 0.97) + pair_of("mlp", "4", "int8", 300, 20, 0.5);
  apply_targets(records, std::vector<Target>{{"gemv", "", "", "cpu", Target::Kind::kShareOfLimit, 0.8}});
  for (std::size_t i = 6; i < 8; ++i) records[i].outcome = {Outcome::Kind::kSkipped, "no memory"};
  EXPECT_EQ(
      first_line(records),
      "4 cases: 1 reaches its target, 1 at the limit (90 % or more), 1 below 90 % of the limit, 1 skipped");
}

TEST(RunView, WithoutTargetsOrLimitsSaysWhatItTakes) {
  std::vector<Record> records = pair_of("gemv", "1", "int8", 100, 20, 0.9);
  for (Record& record : records) record.limit.reset();
  EXPECT_EQ(first_line(records), "gemv D=1 takes 100 µs ±1.0 %");
  std::vector<Record> more = pair_of("gemv", "2", "int8", 300, 20, 0.9);
  for (Record& record : more) record.limit.reset();
  EXPECT_EQ(first_line(records + more), "longest of 2 cases is gemv D=2: 300 µs ±1.0 %");
}

TEST(RunView, SaysWhatMakesItsNumbersDoubtful) {
  std::vector<Record> one = pair_of("gemv", "1", "int8", 100, 20, 0.9),
                      other = pair_of("gemv", "2", "int8", 100, 20, 0.9);
  for (Record& record : one) record.busy_cpus = 1;
  EXPECT_THAT(run_view(one).text(), HasSubstr("the machine was busy throughout: read shares, not times\n"));
  EXPECT_THAT(run_view(one + other).text(), HasSubstr("the machine was busy in 1 of 2 cases (B)"));
  for (Record& record : one) record.limit->unstable = true;
  EXPECT_THAT(run_view(one).text(), HasSubstr("shares are as rough as times"));
  for (Record& record : one) record.stop = StopReason::kMaxTime;
  EXPECT_THAT(run_view(one).text(), HasSubstr("sampling was capped before the precision goal"));
}

TEST(RunView, SaysFirstWhatFailed) {
  std::vector<Record> records =
      pair_of("gemv", "1", "int8", 100, 20, 0.9) + pair_of("mlp", "2", "int8", 1, 2, 0.9);
  records.pop_back();
  records[2].outcome = {Outcome::Kind::kFailed, "killed by signal 11"};
  EXPECT_EQ(first_line(records), "1 of 2 cases failed: mlp D=2: killed by signal 11");
}

TEST(Spark, ShowsWhereValuesLie) {
  const std::vector<double> values{1, 1, 1, 1, 2, 3, 3};
  EXPECT_EQ(spark(values, 3, false), "█▂▄");
  EXPECT_EQ(spark(values, 3, true), "@:=");
  EXPECT_EQ(spark(std::vector<double>{5, 5, 5}, 3, true), "@  ") << "all the same";
  std::vector<double> outlier(99, 1);
  outlier[0] = 0;
  outlier.push_back(1e9);
  EXPECT_EQ(spark(outlier, 2, true), ".@") << "one sample far away does not press the others together";
  EXPECT_EQ(spark(std::vector<double>{}, 3, true), "");
}

TEST(MeanTable, ShowsWhatTheMeanIsMadeOf) {
  std::vector<Record> records = pair_of("gemv", "1", "bf16", 1, 10, 0.9) +
                                pair_of("gemv", "2", "bf16", 2, 20, 0.9) +
                                pair_of("gemv", "3", "bf16", 2, 99, 0.9);
  records[4].outcome = records[5].outcome = {Outcome::Kind::kSkipped, "no memory"};
  records[1].metric.target = records[3].metric.target = 12;
  records[1].interval = Interval{9.5, 10.5, 0.95};
  records[3].interval = Interval{19.5, 20.5, 0.95};
  EXPECT_EQ(mean_table(records).text(),
            "native, bfloat16\n"
            "mean over shapes  metric                       mean   target  shapes\n"
            "────────────────────────────────────────────────────────────────────\n"
            "gemv              memory_bandwidth(GB/s)  15.0 GB/s  12.0 ok  2 of 3\n");
}

TEST(MeanTable, WhatNoMachineCanDoIsInNoMean) {
  std::vector<Record> records =
      pair_of("sum", "1", "bf16", 1, 10, 0.9) + pair_of("sum", "2", "bf16", 2, 9000, 350);
  for (Record& record : records)
    record.limit->interval = Interval{0.9 * record.limit->fraction, 1.1 * record.limit->fraction, 0.95};
  const std::string text = mean_table(records).text();
  EXPECT_THAT(text, HasSubstr("10.0 GB/s"));
  EXPECT_THAT(text, HasSubstr("sum (above its limit)"));
}

TEST(MeanTable, OneShapeHasNoMean) {
  const std::vector<Record> records =
      pair_of("gemv", "1", "bf16", 1, 10, 0.9) + pair_of("gemv", "1", "int8", 2, 20, 0.9);
  EXPECT_EQ(mean_table(records).size(), 0U);
  EXPECT_EQ(mean_table(records + pair_of("gemv", "2", "bf16", 1, 10, 0.9)).size(), 2U);
}

TEST(MeanTable, IsOfOwnExperiments) {
  std::vector<Record> records =
      pair_of("gemv", "1", "bf16", 1, 10, 0.9) + pair_of("gemv", "2", "bf16", 1, 10, 0.9);
  EXPECT_EQ(mean_table(records).size(), 1U);
  for (Record& record : records) record.instrument = Instrument::kImport;
  EXPECT_EQ(mean_table(records).size(), 0U) << "parameters of another tool's cases are no shapes";
}

TEST(RunTable, EveryCaseHasARow) {
  std::vector<Record> records = pair_of("bert", "1", "bf16", 1, 10, 0.9);
  std::vector<Record> training = records, other = records;
  for (Record& record : training) record.benchmark.mode = "training";
  for (Record& record : other) record.benchmark.name = "another tool";
  EXPECT_EQ(run_table(records + training).size(), 2U);
  EXPECT_THAT(run_table(records + training).text(), HasSubstr("bert D=1 training"));
  EXPECT_EQ(run_table(records + other).size(), 2U);
}

TEST(RunTable, SaysWhyThereIsNoInterval) {
  std::vector<Record> records = pair_of("a", "1", "bf16", 1, 10, 0.9) +
                                pair_of("b", "1", "bf16", 1, 10, 0.9) + pair_of("c", "1", "bf16", 1, 10, 0.9);
  for (Record& record : records) record.interval = Interval{0.9, 1.1, 0.95};
  EXPECT_THAT(run_legend(records), Not(HasSubstr("no interval")));
  for (std::size_t i = 0; i < 4; ++i) records[i].interval.reset();
  records[0].samples = {};
  records[2].samples = {{.pid = 1, .values = {1, 2, 3}}};
  EXPECT_THAT(run_legend(records),
              AllOf(HasSubstr("  ?  no interval of 1 case: a single value, without samples\n"),
                    HasSubstr("  ?  no interval of 1 case: fewer than 6 samples\n")));
  EXPECT_THAT(run_table({records[2], records[3]}).text(), Not(HasSubstr("?")));
  EXPECT_THAT(run_legend({records[2], records[3]}), HasSubstr("  no interval: fewer than 6 samples\n"));
}

TEST(MetricTable, ShowsWhatTheRowsDoNot) {
  std::vector<Record> records = pair_of("gemv", "1", "bf16", 1, 10, 0.9);
  Record counter = records[0];
  counter.metric = {"misses", "", Direction::kLowerIsBetter, 7, {}, {}, false};
  records.push_back(counter);
  EXPECT_EQ(metric_table(records, {}).size(), 0U);
  EXPECT_EQ(metric_table(records, {{}, true}).size(), 1U);
  EXPECT_THAT(metric_table(records, {{"misses"}, false}).text(), HasSubstr("7.00"));
  EXPECT_EQ(metric_table(records, {{"latency"}, false}).size(), 1U);
  EXPECT_EQ(unshown_metrics_text(records), "") << "headroom shows those of its own runs elsewhere";
  for (Record& record : records) record.instrument = Instrument::kImport;
  EXPECT_EQ(unshown_metrics_text(records), "  1 more result: misses; --all-metrics shows it\n");
}

TEST(RunTable, OfAnIntervalThatIsNotEvenShowsTheLongerSide) {
  std::vector<Record> records = pair_of("gemv", "1", "int8", 100, 20, 0.7);
  records[0].interval = Interval{98, 270, 0.95};
  for (Record& record : records) record.limit->interval = Interval{0.2, 0.71, 0.95};
  const std::string text = run_table(records).text();
  EXPECT_THAT(text, HasSubstr("100 µs  170.0 %"));
  EXPECT_THAT(text, HasSubstr("70.0 % ±50.0"));
  EXPECT_THAT(first_line(records), HasSubstr("70.0 % (20–71.0 %)")) << "sentences have both ends";
}

TEST(MetricText, AnIntervalThatIsNotEvenHasNoSignInASentence) {
  Record record;
  record.metric = {"latency", "us", Direction::kLowerIsBetter, 10, {}, {}};
  record.interval = Interval{9, 14};
  EXPECT_EQ(spread_suffix(record), " (9.00 µs–14.0 µs)");
  EXPECT_EQ(metric_time_with_interval(&record), "10.0 µs (9.00 µs–14.0 µs)");
  EXPECT_EQ(metric_number_with_interval(&record), "10.0 (9.00–14.0)");
  record.interval = Interval{9, 11};
  EXPECT_EQ(spread_suffix(record), " ±10.0 %");
  EXPECT_EQ(metric_time_with_interval(&record), "10.0 µs ±1.00 µs");
  record.interval = Interval{-10, 30};
  EXPECT_EQ(metric_time_with_interval(&record), "10.0 µs ±20.0 µs") << "a difference may be below zero";
  record.interval.reset();
  EXPECT_EQ(spread_suffix(record), "");
  EXPECT_EQ(metric_time_with_interval(&record), "10.0 µs ±?");
}

TEST(RunTable, WhatEveryRowHasIsSaidOnce) {
  std::vector<Record> records;
  for (const char* shape : {"1", "2", "3"}) records = records + pair_of("gemv", shape, "int8", 100, 20, 0.9);
  for (Record& record : records) record.busy_cpus = 1;
  const std::string text = run_table(records).text();
  EXPECT_EQ(text.find(" B"), std::string::npos) << text;
  EXPECT_THAT(run_legend(records), HasSubstr("in every row: busy: other programs"));
}

TEST(ModesText, NamesTheGroupsAndTheirShares) {
  Record record;
  record.metric.name = "latency";
  record.metric.unit = "s";
  EXPECT_EQ(modes_text(record), "");
  record.modes = {{{0.010, 0.52}, {0.01404, 0.48}}, 41, false};
  EXPECT_EQ(modes_text(record), "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed");
  record.modes.in_stretches = true;
  record.modes.changes = 1;
  EXPECT_EQ(modes_text(record),
            "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, in stretches (1 change)");
}

Record with_limit(double fraction, std::optional<Interval> interval) {
  Record record;
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 20, fraction, interval, false};
  return record;
}

TEST(CaseFlags, ACleanRecordHasNone) {
  Record record = with_limit(0.9, Interval{0.89, 0.91, 0.95});
  record.stop = StopReason::kPrecision;
  record.samples = {{1, 1, 0, {1, 2}, {0, 1}, {}}};
  record.samples[0].noise.resize(2);
  EXPECT_EQ(flag_letters(case_flags(record)), "");
  EXPECT_EQ(flags_legend({}), "");
}

TEST(CaseFlags, AboveTheLimitOnlyBeyondTheInterval) {
  EXPECT_EQ(flag_letters(case_flags(with_limit(1.02, Interval{0.99, 1.05, 0.95}))), "");
  EXPECT_EQ(flag_letters(case_flags(with_limit(1.02, Interval{1.01, 1.05, 0.95}))), "A");
  EXPECT_EQ(flag_letters(case_flags(with_limit(1.02, std::nullopt))), "A");
}

TEST(CaseFlags, SayWhereALimitIsOfOtherPages) {
  Record record = with_limit(0.9, Interval{0.89, 0.91, 0.95});
  record.notes = {{NoteKind::kSteal, {5, 10}}, "pages: a sentence is not looked into"};
  EXPECT_EQ(flag_letters(case_flags(record)), "");
  record.notes.push_back({NoteKind::kOtherPages, {0, 1}, "read"});
  EXPECT_EQ(flag_letters(case_flags(record)), "P");
}

TEST(CaseFlags, StealCountsFromATenthOfTheSamples) {
  Record record;
  record.samples.resize(1);
  record.samples[0].values.assign(20, 1);
  record.samples[0].noise.resize(20);
  record.samples[0].noise.set(3, {.steal_ms = 10});
  EXPECT_EQ(flag_letters(case_flags(record)), "");
  record.samples[0].noise.set(4, {.steal_ms = 10});
  EXPECT_EQ(flag_letters(case_flags(record)), "S");
}

TEST(CaseFlags, ADeviceHeldDownCountsFromATenthOfTheSamples) {
  Record record;
  record.samples.resize(1);
  record.samples[0].values.assign(20, 1);
  record.samples[0].device.resize(20);
  for (DeviceNoise& device : record.samples[0].device) device.throttle = 0x002;
  record.samples[0].device[3].throttle = 0x004;
  EXPECT_EQ(flag_letters(case_flags(record)), "") << "clocks that somebody chose do not disturb";
  record.samples[0].device[4].throttle = 0x042;
  EXPECT_EQ(flag_letters(case_flags(record)), "H");
}

TEST(CaseFlags, EachStopReasonAndWarmup) {
  Record record;
  record.stop = StopReason::kMaxTime;
  EXPECT_EQ(flag_letters(case_flags(record)), "T");
  record.stop = StopReason::kMaxSamples;
  EXPECT_EQ(flag_letters(case_flags(record)), "T");
  record.stop = StopReason::kInterrupted;
  EXPECT_EQ(flag_letters(case_flags(record)), "I");
  record.stop = StopReason::kRunnerLost;
  record.samples = {{1, 1, 2, {3, 2, 1}, {}, {}}};
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 20, 0.5, std::nullopt, true};
  EXPECT_EQ(flag_letters(case_flags(record)), "UWL");
}

TEST(CaseFlags, AMachineThatWasBusyBeforehand) {
  Record record;
  record.notes = {{NoteKind::kWarmUp, {3}}};
  EXPECT_EQ(flag_letters(case_flags(record)), "");
  record.busy_cpus = 2.0;
  EXPECT_EQ(flag_letters(case_flags(record)), "B");
}

TEST(CaseFlags, AQuotaAndACapThatWasAskedFor) {
  Record record;
  record.stop = StopReason::kMaxSamples;
  record.notes = {"as many runs as were asked for", "quota: a sentence is not looked into"};
  EXPECT_EQ(flag_letters(case_flags(record)), "T");
  record.notes = {{NoteKind::kExactRounds}, {NoteKind::kQuota, {0.5, 2}}};
  EXPECT_EQ(flag_letters(case_flags(record)), "Q");
}

TEST(CaseFlags, AFailedCaseHasNone) {
  Record record;
  record.outcome = {Outcome::Kind::kFailed, "killed"};
  record.stop = StopReason::kRunnerLost;
  EXPECT_EQ(flag_letters(case_flags(record)), "");
}

TEST(MarksLegend, ExplainsEachLetterOnce) {
  CaseFlags flags;
  for (const CaseFlag flag : {CaseFlag::kLimitUnstable, CaseFlag::kCapped, CaseFlag::kCapped})
    flags.set(static_cast<std::size_t>(flag));
  EXPECT_EQ(flags_legend(flags),
            "  U  the limit itself moved by more than 10 % between its quartiles\n"
            "  T  stopped by the cap on time or samples before the precision goal\n");
}

Record record(const std::string& metric, const std::string& unit, std::vector<double> values,
              const std::string& D = "1024") {
  Record made;
  made.model.name = "gemv";
  made.model.backend = "native";
  made.axes = {{"D", D}};
  made.metric.name = metric;
  made.metric.unit = unit;
  made.device = "cpu";
  made.caches = "cold";
  made.threads = 2;
  made.samples = {{1, 10, 0, std::move(values), {}, {}}};
  estimate(made);
  return made;
}

std::vector<Record> counted(std::vector<double> volume, double background = 0,
                            const std::string& D = "1024") {
  return {record("latency", "us", {100, 100, 100}, D),
          record("memory_bandwidth(GB/s)", "GB/s", {10, 10, 10}, D),
          record("GFLOP/s", "GFLOP/s", {20, 20, 20}, D), record(kDataVolume, "B", std::move(volume), D),
          record(kBackground, "B", {background}, D)};
}

std::vector<std::string> findings(const std::vector<Record>& records) {
  return counted_findings(counted_work(records));
}

TEST(CountedWork, MoreThanIsDeclaredIsAFinding) {
  const auto said = findings(counted({1.5e6, 1.52e6, 1.54e6}));
  ASSERT_THAT(said, SizeIs(1));
  EXPECT_THAT(said[0], HasSubstr("gemv D=1024 native moves 1.52 times its declared bytes: the memory "
                                 "controllers counted 1.45 MiB per iteration (1.43 MiB to 1.47 MiB, n=3), "
                                 "declared are 977 KiB; "));
  EXPECT_THAT(findings(counted({0.5e6, 0.5e6, 0.5e6})).at(0), HasSubstr("moves 0.500 times"));
}

TEST(CountedWork, WithinFivePercentTheirSpreadOrWhatOthersMovedIsNone) {
  EXPECT_THAT(findings(counted({1.04e6, 1.045e6, 1.05e6})), IsEmpty());
  EXPECT_THAT(findings(counted({1.0e6, 1.5e6, 1.6e6})), IsEmpty()) << "the spread";
  EXPECT_THAT(findings(counted({1.5e6, 1.5e6, 1.5e6}, 0.46e6)), IsEmpty()) << "others";
  EXPECT_THAT(findings(counted({1.5e6, 1.5e6, 1.5e6}, 0.44e6)), SizeIs(1));
  EXPECT_THAT(findings(counted({1.5e6, 1.5e6})), IsEmpty()) << "too few to know the spread";
}

TEST(CountedWork, OfACaseInCachesOrByMissesIsNoFinding) {
  auto records = counted({1.5e6, 1.5e6, 1.5e6});
  for (Record& one : records) one.caches = "hot";
  EXPECT_THAT(findings(records), IsEmpty());
  records = counted({1.5e6, 1.5e6, 1.5e6});
  records[3].metric.name = kMissVolume;
  EXPECT_THAT(findings(records), IsEmpty());
  EXPECT_THAT(counted_work(records), SizeIs(1));
  records.resize(3);
  EXPECT_THAT(counted_work(records), IsEmpty());
}

TEST(CountedWork, TheLargestDifferenceIsSaidFirstAndTheOthersBelow) {
  auto records = counted({1.2e6, 1.2e6, 1.2e6});
  for (Record& more : counted({0.3e6, 0.3e6, 0.3e6}, 0, "2048")) records.push_back(std::move(more));
  const std::string text = run_view(records).text();
  EXPECT_LT(text.find("gemv D=2048 native moves"), text.find("counted, per iteration"));
  EXPECT_GT(text.find("gemv D=1024 native moves"), text.find("counted, per iteration"));
  EXPECT_THAT(text, AllOf(HasSubstr("(1 more below)"), HasSubstr("from memory: bytes moved")));
  EXPECT_THAT(run_view({records[0], records[1]}).text(), Not(HasSubstr("counted")));
}

TEST(CountedWork, IsWhereTheRooflineHasItsPoint) {
  auto records = counted({2e6, 2e6, 2e6});
  for (Record& more : counted({}, 0, "2048")) {
    if (!more.samples[0].values.empty() && more.metric.name != kBackground)
      records.push_back(std::move(more));
  }
  const Roofline roofline = roofline_of(records);
  ASSERT_THAT(roofline.cases, SizeIs(2));
  ASSERT_TRUE(roofline.cases[0].counted);
  EXPECT_DOUBLE_EQ(roofline.cases[0].intensity, 1);
  EXPECT_DOUBLE_EQ(roofline.cases[0].counted->declared_intensity, 2);
  EXPECT_DOUBLE_EQ(roofline.cases[0].bandwidth, 20);
  EXPECT_FALSE(roofline.cases[1].counted);
  EXPECT_DOUBLE_EQ(roofline.cases[1].intensity, 2);
  EXPECT_STREQ(source_of_bytes(roofline), "declared and counted");
  EXPECT_THAT(roofline.findings, SizeIs(1));
  EXPECT_THAT(roofline_svg(roofline, "t"), HasSubstr("bytes counted"));
}

}  // namespace
}  // namespace headroom
