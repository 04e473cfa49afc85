// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/identity.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "full_record.h"
#include "headroom/record/operation_rate.h"

namespace headroom {
namespace {

/// That hash and equality say what the text of identity() does.
void expect_agreement(const Record& a, const Record& b) {
  const bool same = identity(a) == identity(b);
  EXPECT_EQ(same_identity(a, b), same) << identity(a) << " " << identity(b);
  if (same) EXPECT_EQ(identity_hash(a), identity_hash(b)) << identity(a);
  EXPECT_EQ(identity_hash(a) == identity_hash(b), same) << "of these few, no two share a hash by accident";
  Record first = a, second = b;
  first.metric.name.clear();
  second.metric.name.clear();
  const bool same_but_metric = identity(first) == identity(second);
  EXPECT_EQ(same_case(a, b), same_but_metric);
  if (same_but_metric) EXPECT_EQ(case_hash(a), case_hash(b));
}

TEST(IdentityHash, SaysWhatTheTextDoes) {
  const Record a = measured("gemv", "1024", "bf16", 0);
  std::vector<Record> all(16, a);
  all[1].benchmark.name += "x";
  all[2].model.name += "x";
  all[3].model.backend = "reference";
  all[4].axes[0].second = "2048";
  all[5].benchmark.dtype = "bfloat16";
  all[6].device = "cuda";
  all[7].caches = "hot";
  all[8].threads = 1;
  all[9].metric.name = "latency";
  all[10].benchmark.mode = "training";
  std::swap(all[11].axes[0], all[11].axes[1]);
  all[12].axes[1].second = "bfloat16";
  all[13].axes[0].second = AxisValue::Size{1024};
  all[14].axes.pop_back();
  all[15].runner = "/opt/other";
  for (const Record& one : all)
    for (const Record& other : all) expect_agreement(one, other);
}

TEST(IdentityHash, DoesNotMixUpItsParts) {
  Record a = measured("gemv", "1", "x", 0), b = a;
  a.device = "ab";
  a.caches = "c";
  b.device = "a";
  b.caches = "bc";
  expect_agreement(a, b);
}

TEST(IdentityHash, RatesOfIntegersHaveTwoNames) {
  Record a = measured("limit.peak", "1", "int8", 0), b = a;
  a.metric.name = "GFLOP/s";
  b.metric.name = "GOP/s";
  EXPECT_TRUE(same_identity(a, b)) << "records said GFLOP/s before";
  EXPECT_EQ(identity(a), identity(b));
  EXPECT_EQ(identity_hash(a), identity_hash(b));
  b.metric.name = "latency";
  expect_agreement(a, b);
}

TEST(OperationRate, IsNamedByTheDtype) {
  for (const char* dtype : {"int8", "s8", "u8", "i32", "uint8", "int4"})
    EXPECT_STREQ(operation_rate(dtype), "GOP/s") << dtype;
  for (const char* dtype : {"", "f32", "bf16", "float8", "i", "int8_g32", "u"})
    EXPECT_STREQ(operation_rate(dtype), "GFLOP/s") << dtype;
}

TEST(IdentityHash, TakesBytesThatAreNoTextAsIdentityDoes) {
  Record a = measured("gemv\xff", "1", "x", 0), b = measured("gemv\xfe", "1", "x", 0);
  EXPECT_EQ(identity(a), identity(b));
  expect_agreement(a, b);
  expect_agreement(a, measured("g\u00e9mv", "1", "x", 0));
}

}  // namespace
}  // namespace headroom
