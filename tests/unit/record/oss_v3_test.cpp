// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats/oss_v3.h"

#include <gtest/gtest.h>

#include <cmath>

#include "full_record.h"
#include "headroom/base/json.h"
#include "reader_data.h"

namespace headroom {
namespace {

Json written(const std::vector<Record>& records) {
  return parse_json(oss_v3_format().write(records, "", "t"), "t");
}

Record measured_record() {
  Record record = full_record();
  record.outcome = {};
  return record;
}

TEST(OssV3, WritesTheFieldsOfTheSchema) {
  const Json json = written({measured_record()}).at(0);
  EXPECT_EQ(json["timestamp"], 1790000000);
  EXPECT_EQ(json["schema_version"], "v3");
  EXPECT_EQ(json["repo"], "example/project");
  EXPECT_EQ(json["head_branch"], "main");
  EXPECT_EQ(json["head_sha"], "c0ffee");
  EXPECT_EQ(json["runners"][0]["cpu_count"], 2);
  EXPECT_EQ(json["runners"][0]["type"], "x86_64");
  EXPECT_EQ(json["dependencies"]["torch"]["version"], "2.5");
  EXPECT_EQ(json["benchmark"]["name"], "my benchmark");
  EXPECT_EQ(json["benchmark"]["dtype"], "int8");
  EXPECT_EQ(json["benchmark"]["extra_info"]["device"], "cpu");
  EXPECT_EQ(json["benchmark"]["extra_info"]["arch"], "x86_64");
  EXPECT_EQ(json["benchmark"]["extra_info"]["D"], "1024");
  EXPECT_EQ(json["model"]["backend"], "native");
  EXPECT_EQ(json["model"]["origins"], Json::array({"pytorch", "ours"}));
  EXPECT_EQ(json["metric"]["name"], "memory_bandwidth(GB/s)");
  EXPECT_EQ(json["metric"]["target_value"], 14.5);
}

TEST(OssV3, HasOneValueAndTheSamplesAsStrings) {
  const Json metric = written({measured_record()}).at(0)["metric"];
  EXPECT_EQ(metric["benchmark_values"], Json::array({12.25}));
  EXPECT_EQ(metric["extra_info"]["samples"], "[[12.0,12.25,0.1],[12.5]]");
  EXPECT_EQ(metric["extra_info"]["unit"], "GB/s");
  EXPECT_EQ(metric["extra_info"]["interval_low"], "12.0");
  for (const auto& [key, value] : metric["extra_info"].items()) EXPECT_TRUE(value.is_string()) << key;
}

TEST(OssV3, GivesTimesInNanoseconds) {
  Record record = measured_record();
  record.metric = {"latency", "us", Direction::kLowerIsBetter, 0.004, 0.002, {}};
  record.samples = {{1, 1, 0, {0.004}, {0}, {}}};
  record.interval = Interval{0.003, 0.005, 0.95};
  const Json metric = written({record}).at(0)["metric"];
  EXPECT_DOUBLE_EQ(metric["benchmark_values"][0].get<double>(), 4);
  EXPECT_DOUBLE_EQ(metric["target_value"].get<double>(), 2);
  EXPECT_EQ(metric["extra_info"]["unit"], "ns");
  EXPECT_EQ(metric["extra_info"]["samples"], "[[4.0]]");
  EXPECT_EQ(metric["extra_info"]["interval_high"], "5.0");
}

TEST(OssV3, KeepsAUnitThatTheNameFixes) {
  Record record = measured_record();
  record.metric = {"compilation_time(s)", "s", Direction::kLowerIsBetter, 12.5, {}, {}};
  const Json metric = written({record}).at(0)["metric"];
  EXPECT_EQ(metric["benchmark_values"][0], 12.5);
  EXPECT_FALSE(metric.contains("target_value"));
}

TEST(OssV3, LeavesOutWhatWasNotMeasured) {
  Record failed = full_record(), skipped = full_record(), nan = measured_record();
  skipped.outcome.kind = Outcome::Kind::kSkipped;
  nan.metric.value = std::nan("");
  EXPECT_EQ(written({failed, measured_record(), skipped, nan}).size(), 1U);
  EXPECT_EQ(written({failed}).size(), 0U);
}

TEST(OssV3, NeverWritesAnEmptyUploadFieldAndNeverHidesTheDevice) {
  Record record = measured("gemv", "1024", "bf16", 5);
  record.axes.emplace_back("device", "other");
  auto environment = std::make_shared<Environment>();
  environment->timestamp = 5;
  record.environment = environment;
  const Json json = written({record}).at(0);
  for (const char* key : {"repo", "head_branch", "head_sha", "runners", "dependencies"}) {
    EXPECT_FALSE(json.contains(key)) << key;
  }
  EXPECT_EQ(json["benchmark"]["extra_info"]["device"], "cpu");
  EXPECT_EQ(json["benchmark"]["extra_info"]["axis_device"], "other");
  EXPECT_EQ(json["benchmark"]["dtype"], "bfloat16");
}

TEST(OssV3, OurMachineIsTheSameOneAgainAndOthersAreToldApart) {
  const Json ours = written({measured_record()}).at(0);
  EXPECT_EQ(read_text(dump_json(ours))[0].environment->fingerprint, full_record().environment->fingerprint);
  const auto of_runner = [](const std::string& name) {
    return read_text(R"({"benchmark": {"name": "b"}, "model": {"name": "m"}, "metric": {"name": "latency",)"
                     R"("benchmark_values": [1]}, "runners": [{"name": ")" +
                     name + R"("}]})")[0]
        .environment->fingerprint;
  };
  EXPECT_NE(of_runner("linux.a"), of_runner("linux.b"));
  EXPECT_TRUE(of_runner("linux.a").starts_with("linux-a-"));
}

}  // namespace
}  // namespace headroom
