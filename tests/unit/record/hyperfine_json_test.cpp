// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/hyperfine_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/record/tool_record.h"
#include "reader_data.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Record with_values(const std::string& metric, const std::string& unit, std::vector<double> values) {
  Record record = tool_record("headroom", "sort {n}", metric, unit);
  record.axes = {{"n", "4"}};
  record.model.extra_info["title"] = "sort 4";
  set_samples(record, std::move(values));
  return record;
}

TEST(HyperfineJson, HoldsWhatHyperfineWrites) {
  std::vector<Record> records{
      with_values("latency", "ms", {3, 1, 2}), with_values("user_time", "s", {0.001, 0.003}),
      with_values("peak_memory", "B", {4096, 8192, 4096}), with_values("exit_code", "1", {0, 3, -9})};
  records[0].samples[0].warmup = 1;
  const Json file = parse_json(hyperfine_json(records, "out.json"), "out.json");
  ASSERT_EQ(file.at("results").size(), 1U);
  const Json& result = file["results"][0];
  EXPECT_EQ(result["command"], "sort 4");
  EXPECT_EQ(result["times"], Json::array({0.003, 0.001, 0.002})) << "warm-up included";
  EXPECT_DOUBLE_EQ(result["mean"].get<double>(), 0.002);
  EXPECT_DOUBLE_EQ(result["median"].get<double>(), 0.002);
  EXPECT_DOUBLE_EQ(result["stddev"].get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(result["min"].get<double>(), 0.001);
  EXPECT_DOUBLE_EQ(result["max"].get<double>(), 0.003);
  EXPECT_DOUBLE_EQ(result["user"].get<double>(), 0.002);
  EXPECT_EQ(result["system"], 0);
  EXPECT_EQ(result["memory_usage_byte"], Json::array({4096, 8192, 4096}));
  EXPECT_EQ(result["exit_codes"], Json::array({0, 3, nullptr}));
  EXPECT_EQ(result["parameters"]["n"], "4");
}

TEST(HyperfineJson, ComesBackThroughTheReader) {
  const std::vector<Record> records =
      read_text(hyperfine_json({with_values("latency", "us", {3000, 1000, 2000})}, "x"));
  EXPECT_THAT(records.at(0).samples.at(0).values, ElementsAre(0.003, 0.001, 0.002));
  EXPECT_EQ(case_name(records[0]), "sort {n} n=4") << "the record's own name";
}

TEST(HyperfineJson, WithoutATimeThereIsNothingToWrite) {
  const std::vector<Record> records{with_values("token_per_sec", "tokens/s", {5}),
                                    with_values("latency", "s", {})};
  try {
    hyperfine_json(records, "out.json");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("out.json: nothing was timed"));
  }
}

}  // namespace
}  // namespace headroom
