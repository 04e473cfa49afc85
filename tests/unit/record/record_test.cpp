// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/record.h"

#include <gtest/gtest.h>

#include "full_record.h"
#include "headroom/record/architecture.h"
#include "headroom/record/dtype.h"

namespace headroom {
namespace {

TEST(CaseName, IsTheExperimentAndItsAxes) {
  EXPECT_EQ(case_name(full_record()), "gemv D=1024 a=x dtype=int8");
}

TEST(Identity, LeavesOutWhatMayDifferBetweenTwoRuns) {
  const Record a = full_record();
  Record b = a;
  b.runner = "/opt/other";
  b.metric.value = 1;
  b.samples.clear();
  b.environment = nullptr;
  b.outcome = {};
  EXPECT_EQ(identity(a), identity(b));
}

TEST(Identity, TellsEachQuantityApart) {
  const Record a = full_record();
  std::vector<Record> others(10, a);
  others[0].benchmark.name += "x";
  others[1].model.name += "x";
  others[2].model.backend = "reference";
  others[3].axes[0].second = "2048";
  others[4].benchmark.dtype = "bf16";
  others[5].device = "cuda";
  others[6].caches = "hot";
  others[7].threads = 1;
  others[8].metric.name = "latency";
  others[9].benchmark.mode = "training";
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(identity(a), identity(others[i])) << i;
}

TEST(Identity, KnowsACaseByAnyOrderOfItsAxesAndAnyNameOfItsDtype) {
  const Record a = measured("gemv", "1024", "bf16", 0);
  Record b = measured("gemv", "1024", "bfloat16", 0);
  std::swap(b.axes[0], b.axes[1]);
  EXPECT_EQ(identity(a), identity(b));
  b.axes[0].second = "float16";
  EXPECT_NE(identity(a), identity(b));
  EXPECT_EQ(a.axes[0].first, "D");
}

TEST(Identity, DoesNotMixUpItsParts) {
  Record a = measured("gemv", "1", "x", 0), b = a;
  a.device = "ab";
  a.caches = "c";
  b.device = "a";
  b.caches = "bc";
  EXPECT_NE(identity(a), identity(b));
}

TEST(Architecture, DependsOnTheDevice) {
  Record record = full_record();
  EXPECT_EQ(architecture(record), "x86_64");
  record.device = "cuda";
  EXPECT_EQ(architecture(record), "A GPU");
  record.benchmark.extra_info["arch"] = "said";
  EXPECT_EQ(architecture(record), "said");
  EXPECT_EQ(architecture(Record{}), "");
}

TEST(TorchDtype, KnowsTheShortNames) {
  EXPECT_EQ(torch_dtype("bf16"), "bfloat16");
  EXPECT_EQ(torch_dtype("f32"), "float32");
  EXPECT_EQ(torch_dtype("int8"), "int8");
}

}  // namespace
}  // namespace headroom
