// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/base/files.h"
#include "headroom/record/targets.h"
#include "sample_records.h"

namespace headroom {
namespace {

using namespace testing;

constexpr const char* kBandwidth = "memory_bandwidth(GB/s)";

TEST(Targets, AreRead) {
  const std::vector<Target> targets = parse_targets(R"(
[[target]]
experiment = "gemv"
metric = "latency"
dtype = "int8"
device = "A100"
value = 870
note = "why"
[[target]]
experiment = "mlp"
device = "cpu"
percent_of_limit = 82.5
)",
                                                    "t.toml");
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(targets[0].experiment, "gemv");
  EXPECT_EQ(targets[0].metric, "latency");
  EXPECT_EQ(targets[0].value, 870);
  EXPECT_EQ(targets[0].kind, Target::Kind::kValue);
  EXPECT_EQ(targets[1].kind, Target::Kind::kShareOfLimit);
  EXPECT_DOUBLE_EQ(targets[1].value, 0.825);
  EXPECT_TRUE(parse_targets("", "t").empty());
}

TEST(Targets, ErrorsNameLineAndColumn) {
  const auto message = [](const std::string& text) {
    return message_of([&] { parse_targets(text, "t.toml"); });
  };
  const std::string head = "[[target]]\nexperiment = \"gemv\"\ndevice = \"cpu\"\n";
  EXPECT_THAT(message("[[target]]\nexperiment = \"gemv\n"), StartsWith("t.toml: line 2, column "));
  EXPECT_THAT(message("[[target]]\nexperiment = \"\xff\"\n"), StartsWith("t.toml: line 2, column "));
  EXPECT_THAT(
      message(head + "value = 1\nmetric = \"m\"\nvalu = 2\n"),
      AllOf(StartsWith("t.toml: line 6, column 1: unknown key 'valu'"), HasSubstr("did you mean 'value'?")));
  EXPECT_THAT(message("targets = 1\n"), StartsWith("t.toml: line 1, column 1: unknown key 'targets'"));
  EXPECT_THAT(message("[target]\nexperiment = \"x\"\n"), HasSubstr("write [[target]]"));
  EXPECT_THAT(message("target = [1]\n"), HasSubstr("line 1, column 11: a target is a table"));
  EXPECT_THAT(message("\n[[target]]\ndevice = \"cpu\"\npercent_of_limit = 5\n"),
              StartsWith("t.toml: line 2, column 1: 'experiment' is missing"));
  EXPECT_THAT(message(head), HasSubstr("either 'value' or 'percent_of_limit'"));
  EXPECT_THAT(message(head + "value = 1\npercent_of_limit = 5\n"), HasSubstr("either 'value' or"));
  EXPECT_THAT(message(head + "value = 1\n"), HasSubstr("'metric' is missing"));
  EXPECT_THAT(message(head + "percent_of_limit = \"80\"\n"),
              HasSubstr("line 4, column 20: 'percent_of_limit' is not a number"));
  EXPECT_THAT(message(head + "percent_of_limit = -1\n"), HasSubstr("above 0"));
  EXPECT_THAT(message(head + "percent_of_limit = nan\n"), HasSubstr("above 0"));
  EXPECT_THAT(message(head + "percent_of_limit = 5\ndtype = 8\n"),
              HasSubstr("line 5, column 9: 'dtype' is not a string"));
  EXPECT_THAT(message(head + "experiment = \"x\"\n"), StartsWith("t.toml: line 4"));
}

TEST(Targets, AMissingFileIsNamed) {
  EXPECT_THAT(message_of([] { read_targets("/nowhere/t.toml"); }), HasSubstr("/nowhere/t.toml"));
}

TEST(FindTarget, ComparesEachPart) {
  const std::vector<Target> targets = shipped_targets();
  const TargetQuery a100{"gemv", kBandwidth, "bf16", "cuda", "NVIDIA A100-SXM4-40GB"};
  ASSERT_TRUE(find_target(targets, a100));
  EXPECT_EQ(find_target(targets, a100)->value, 990);
  for (auto change : {+[](TargetQuery& query) { query.experiment = "gem"; },
                      +[](TargetQuery& query) { query.dtype = "f32"; },
                      +[](TargetQuery& query) { query.device = "rocm", query.device_name = "MI300X"; }}) {
    TargetQuery query = a100;
    change(query);
    EXPECT_FALSE(find_target(targets, query))
        << query.experiment << query.metric << query.dtype << query.device_name;
  }
}

TEST(FindTarget, RatesOfIntegersHaveTwoNames) {
  const std::vector<Target> targets = parse_targets(
      "[[target]]\nexperiment = \"dot\"\nmetric = \"GFLOP/s\"\ndevice = \"cpu\"\nvalue = 3\n", "a.toml");
  EXPECT_TRUE(find_target(targets, {"dot", "GOP/s", "int8", "cpu", ""}));
  EXPECT_FALSE(find_target(targets, {"dot", "latency", "int8", "cpu", ""}));
}

TEST(FindTarget, ADeviceThatNoNumberIsAboutIsHeldAgainstItsLimit) {
  const std::vector<Target> targets = shipped_targets();
  for (const std::string name : {"NVIDIA H200", "NVIDIA A100-SXM4-80GB", ""}) {
    const auto found = find_target(targets, {"gemv", kBandwidth, "bfloat16", "cuda", name});
    ASSERT_TRUE(found) << name;
    EXPECT_EQ(found->kind, Target::Kind::kShareOfLimit) << name;
    EXPECT_DOUBLE_EQ(found->value, 0.64) << name;
  }
}

TEST(FindTarget, DeviceIsAPatternAnywhereInTheNameOrTheWholeKind) {
  const auto fits = [](const std::string& pattern, const std::string& device, const std::string& name) {
    const std::vector<Target> targets{{"e", "m", "", pattern, Target::Kind::kValue, 1}};
    return find_target(targets, {"e", "m", "d", device, name}).has_value();
  };
  EXPECT_TRUE(fits("cpu", "cpu", "x"));
  EXPECT_TRUE(fits("xeon", "cpu", "INTEL(R) XEON(R) 8592"));
  EXPECT_TRUE(fits("X*(R) 85?2", "cpu", "INTEL(R) XEON(R) 8592"));
  EXPECT_TRUE(fits("*", "cpu", ""));
  EXPECT_FALSE(fits("cpu", "cuda", "A100"));
  EXPECT_FALSE(fits("xeon?", "cpu", "xeon"));
}

TEST(FindTarget, TheFirstInTheListWins) {
  std::vector<Target> targets{{"e", "", "bfloat16", "cpu", Target::Kind::kShareOfLimit, 0.5},
                              {"e", "", "", "cpu", Target::Kind::kShareOfLimit, 0.6}};
  EXPECT_EQ(find_target(targets, {"e", "m", "bf16", "cpu", ""})->value, 0.5);
  EXPECT_EQ(find_target(targets, {"e", "m", "int8", "cpu", ""})->value, 0.6);
}

TEST(TargetQueryOfARecord, KnowsTheDeviceByAllItsNames) {
  const TargetQuery query = target_query(full_record());
  EXPECT_EQ(query.experiment, "gemv");
  EXPECT_EQ(query.device, "cpu");
  EXPECT_EQ(query.device_name, "x86_64 A CPU");
}

TEST(ShippedTargets, AreTheFileOfTheRepository) {
  EXPECT_EQ(kShippedTargets, read_file(HEADROOM_TEST_DATA "/../../data/targets.toml"));
  EXPECT_DOUBLE_EQ(
      find_target(shipped_targets(), {"gather_gemv", kBandwidth, "int8", "cpu", "x86_64"})->value, 0.7);
}

/// 20 GB/s (19 to 21), at 0.90 (0.88 to 0.92) of its limit.
Record at_nine_tenths() {
  Record record = measured("gemv", "1024", "bf16", 20);
  record.interval = Interval{19, 21, 0.95};
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 22, 0.9, Interval{0.88, 0.92, 0.95}, false};
  return record;
}

TargetVerdict against(Record record, Target::Kind kind, double value) {
  std::vector<Record> records{std::move(record)};
  apply_targets(records, std::vector<Target>{{"gemv", records[0].metric.name, "", "cpu", kind, value}});
  return target_verdict(records[0]);
}

TEST(TargetVerdict, ComparesAValueInTheDirectionOfTheMetric) {
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 19), TargetVerdict::kReached);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 20), TargetVerdict::kInconclusive);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 20.5), TargetVerdict::kInconclusive);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kValue, 22), TargetVerdict::kMissed);
  Record lower = at_nine_tenths();
  lower.metric.direction = Direction::kLowerIsBetter;
  EXPECT_EQ(against(lower, Target::Kind::kValue, 22), TargetVerdict::kReached);
  EXPECT_EQ(against(lower, Target::Kind::kValue, 18), TargetVerdict::kMissed);
}

TEST(TargetVerdict, ComparesAShareWithThePairedRatioToTheLimit) {
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.88), TargetVerdict::kReached);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kInconclusive);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.91), TargetVerdict::kInconclusive);
  EXPECT_EQ(against(at_nine_tenths(), Target::Kind::kShareOfLimit, 0.95), TargetVerdict::kMissed);
}

TEST(TargetVerdict, AShareIsAlsoGivenInTheUnitOfTheMetric) {
  std::vector<Record> records{at_nine_tenths(), at_nine_tenths()};
  records[1].metric.direction = Direction::kLowerIsBetter;
  apply_targets(records, std::vector<Target>{{"gemv", "", "", "cpu", Target::Kind::kShareOfLimit, 0.5}});
  EXPECT_DOUBLE_EQ(records[0].metric.target.value(), 11);
  EXPECT_DOUBLE_EQ(records[1].metric.target.value(), 44);
}

TEST(TargetVerdict, AResultAboveItsLimitIsNoSuccess) {
  Record record = at_nine_tenths();
  record.limit->fraction = 1.2;
  record.limit->interval = Interval{1.1, 1.3, 0.95};
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kInconclusive);
  EXPECT_TRUE(is_miscounted(record));
  record.busy_cpus = 1;
  EXPECT_FALSE(is_miscounted(record)) << "the limit may have been held up";
  record.busy_cpus = 0;
  record.limit->unstable = true;
  EXPECT_FALSE(is_miscounted(record));
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kInconclusive)
      << "held up, perhaps";
  record.limit->unstable = false;
  record.limit->interval.reset();
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.9), TargetVerdict::kInconclusive)
      << "too few samples";
}

TEST(TargetVerdict, WithoutAnIntervalNothingIsSaid) {
  Record record = at_nine_tenths();
  record.interval.reset();
  EXPECT_EQ(against(record, Target::Kind::kValue, 1), TargetVerdict::kInconclusive);
  EXPECT_EQ(against(record, Target::Kind::kValue, 100), TargetVerdict::kInconclusive)
      << "one sample misses nothing";
  record.limit->interval = Interval{0.1, 1.4, 0.95};
  EXPECT_EQ(against(record, Target::Kind::kShareOfLimit, 0.55), TargetVerdict::kInconclusive);
}

TEST(TargetVerdict, TheMeanDoesNotContradictItsCases) {
  std::vector<Record> cases{at_nine_tenths(), at_nine_tenths(), at_nine_tenths()};
  cases[1].metric.value = 5;  // small and large shapes
  cases[1].interval = Interval{4, 6, 0.95};
  const auto mean_at = [&](double share) {
    for (Record& record : cases) {
      record.metric.target = record.limit->value * share;
      record.metric.target_share = share;
    }
    return mean_target_verdict(std::vector<const Record*>{&cases[0], &cases[1], &cases[2]});
  };
  EXPECT_EQ(mean_at(0.87), TargetVerdict::kReached);
  EXPECT_EQ(mean_at(0.90), TargetVerdict::kInconclusive);
  EXPECT_EQ(mean_at(0.93), TargetVerdict::kMissed);
  EXPECT_EQ(mean_at(0.885), TargetVerdict::kReached) << "three cases tell more than one";
  cases[0].limit->interval.reset();
  EXPECT_EQ(mean_at(0.5), TargetVerdict::kInconclusive);
}

TEST(TargetVerdict, IsNoneWithoutAMeasurementATargetOrALimit) {
  Record failed = at_nine_tenths();
  failed.outcome.kind = Outcome::Kind::kFailed;
  EXPECT_EQ(against(failed, Target::Kind::kValue, 1), TargetVerdict::kNone);
  EXPECT_EQ(target_verdict(at_nine_tenths()), TargetVerdict::kNone);
  Record unlimited = at_nine_tenths();
  unlimited.limit.reset();
  EXPECT_EQ(against(unlimited, Target::Kind::kShareOfLimit, 0.5), TargetVerdict::kNone);
}

TEST(TargetVerdict, OnlyHeadlinesGetTargets) {
  Record latency = at_nine_tenths();
  latency.metric.headline = false;
  EXPECT_EQ(against(latency, Target::Kind::kValue, 1), TargetVerdict::kNone);
}

}  // namespace
}  // namespace headroom
