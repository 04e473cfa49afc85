// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/seed_rows.h"

#include <gtest/gtest.h>

#include <cmath>

#include "full_record.h"

namespace headroom {
namespace {

TEST(SeedRows, AreMeansOverTheShapes) {
  std::vector<Record> records{measured("gemv", "1024", "int8", 10), measured("gemv", "1024", "bf16", 5),
                              measured("gemv", "4096", "int8", 20)};
  for (Record& record : records) record.environment = full_environment();
  const std::vector<SeedRow> rows = seed_rows(records);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "gemv");
  EXPECT_EQ(rows[0].metric, "memory_bandwidth(GB/s)");
  EXPECT_EQ(std::get<double>(rows[0].actual), 15);
  EXPECT_EQ(rows[0].shapes, 2U);
  EXPECT_EQ(rows[0].dtype, "int8");
  EXPECT_EQ(rows[0].arch, "x86_64");
  EXPECT_FALSE(rows[0].is_model);
  EXPECT_EQ(rows[1].dtype, "bfloat16");
  EXPECT_EQ(rows[1].shapes, 1U);
}

TEST(SeedRows, TakeTheHeadlineOnly) {
  Record latency = measured("gemv", "1024", "int8", 3);
  latency.metric.name = "latency";
  latency.metric.headline = false;
  EXPECT_EQ(seed_rows({latency, measured("gemv", "1024", "int8", 10)}).size(), 1U);
}

TEST(SeedRows, LeaveOutAndCountWhatWasNotMeasured) {
  std::vector<Record> records{measured("gemv", "1", "int8", 10), measured("gemv", "2", "int8", 99),
                              measured("gemv", "3", "int8", std::nan("")), measured("mlp", "1", "bf16", 1)};
  records[1].outcome = {Outcome::Kind::kSkipped, "no memory"};
  records[3].outcome = {Outcome::Kind::kFailed, "killed"};
  const std::vector<SeedRow> rows = seed_rows(records);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(std::get<double>(rows[0].actual), 10);
  EXPECT_EQ(rows[0].shapes, 1U);
  EXPECT_EQ(rows[0].left_out, 2U);
}

TEST(SeedRows, GiveAGroupToEachBackendAndRunner) {
  std::vector<Record> records(3, measured("gemv", "1024", "int8", 10));
  records[1].model.backend = "reference";
  records[2].runner = "/opt/b";
  const std::vector<SeedRow> rows = seed_rows(records);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0].name, "gemv");
  EXPECT_EQ(rows[1].name, "gemv (reference)");
  EXPECT_EQ(rows[2].name, "gemv (/opt/b)");
}

TEST(SeedRows, HaveATargetOnlyWhereEachCaseHasOne) {
  std::vector<Record> records{measured("gemv", "1", "int8", 10), measured("gemv", "2", "int8", 20)};
  records[0].metric.target = 870;
  EXPECT_TRUE(std::holds_alternative<std::monostate>(seed_rows(records)[0].target));
  records[1].metric.target = 870;
  EXPECT_EQ(std::get<std::int64_t>(seed_rows(records)[0].target), 870);
  records[1].metric.target = 871;
  EXPECT_EQ(std::get<double>(seed_rows(records)[0].target), 870.5);
}

TEST(SeedRows, KnowAModel) {
  Record record = measured("Llama-2-7b-chat-hf", "1", "bf16", 100);
  record.model.type = "OSS model";
  EXPECT_TRUE(seed_rows({record})[0].is_model);
  EXPECT_EQ(seed_rows({record})[0].name, "Llama-2-7b-chat-hf");
  record.model.name = "llama2_7b_bf16";
  record.model.extra_info["model"] = "Llama-2-7b-chat-hf";
  EXPECT_EQ(seed_rows({record})[0].name, "Llama-2-7b-chat-hf") << "as the benchmark calls it";
  EXPECT_EQ(seed_rows({record})[0].experiment, "llama2_7b_bf16");
}

}  // namespace
}  // namespace headroom
