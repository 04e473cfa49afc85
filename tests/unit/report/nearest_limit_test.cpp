// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/nearest_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

Record latency_of(const std::string& backend, const std::string& runner, double us, double fraction) {
  Record record;
  record.model.name = "gemv";
  record.model.backend = backend;
  record.runner = runner;
  record.benchmark.dtype = "bf16";
  record.axes = {{"D", "4096"}, {"dtype", "bf16"}};
  record.metric = {"latency", "us", Direction::kLowerIsBetter, us, {}, {}};
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}},
                       us * fraction,
                       fraction,
                       Interval{fraction - 0.01, fraction + 0.01, 0.95},
                       false};
  return record;
}

Record compared(Record record, double ratio, double low, double high) {
  record.ratio = RatioToOther{ratio, Interval{low, high, 0.95}, 30, "native@native"};
  return record;
}

TEST(NearestLimit, NamesTheFastestAndWhoComesNext) {
  const std::vector<Record> records{latency_of("native", "native", 100, 0.88),
                                    compared(latency_of("aten", "torch", 190, 0.46), 1.9, 1.8, 2.0),
                                    compared(latency_of("onednn", "native", 131, 0.67), 1.31, 1.29, 1.33)};
  EXPECT_EQ(nearest_limit_text(records),
            "nearest the limit: gemv D=4096 bf16: native (88.0 % ±1.0), then onednn [native]: "
            "1.310 x the time (1.290 to 1.330)\n");
}

TEST(NearestLimit, SaysWhereTwoAreNotToldApart) {
  const std::vector<Record> records{latency_of("native", "native", 100, 0.88),
                                    compared(latency_of("aten", "torch", 101, 0.87), 1.01, 0.98, 1.04)};
  EXPECT_THAT(nearest_limit_text(records), testing::HasSubstr("(0.980 to 1.040): not told apart\n"));
}

TEST(NearestLimit, WhereTheBaselineComesNextItsRatioIsTheInverse) {
  const std::vector<Record> records{latency_of("native", "native", 300, 0.3),
                                    compared(latency_of("aten", "torch", 100, 0.9), 0.33, 0.32, 0.34)};
  EXPECT_EQ(nearest_limit_text(records),
            "nearest the limit: gemv D=4096 bf16: aten [torch] (90.0 % ±1.0), then native: "
            "3.030 x the time (2.941 to 3.125)\n");
  const std::vector<Record> alike{latency_of("native", "native", 101, 0.3),
                                  compared(latency_of("aten", "torch", 100, 0.9), 0.872, 0.565, 1.544)};
  EXPECT_THAT(nearest_limit_text(alike),
              testing::HasSubstr("1.147 x the time (0.648 to 1.770): not told apart\n"));
}

TEST(NearestLimit, WithoutAPairedRatioItSaysThatItTookTheMedians) {
  const std::vector<Record> records{latency_of("native", "native", 300, 0.2),
                                    compared(latency_of("aten", "torch", 100, 0.9), 0.33, 0.32, 0.34),
                                    compared(latency_of("onednn", "native", 200, 0.4), 0.67, 0.66, 0.68)};
  EXPECT_THAT(nearest_limit_text(records),
              testing::HasSubstr("then onednn [native]: 2.000 x the time, by the medians\n"));
}

TEST(NearestLimit, OneBackendOrOneThatFailedIsNoComparison) {
  Record failed = latency_of("aten", "torch", 1, 0.9);
  failed.outcome = {Outcome::Kind::kFailed, "boom"};
  EXPECT_EQ(nearest_limit_text({latency_of("native", "native", 100, 0.88), failed}), "");
  failed.kept_wrong = true;
  EXPECT_EQ(nearest_limit_text({latency_of("native", "native", 100, 0.88), failed}), "")
      << "timed, but wrong";
  Record other = latency_of("native", "native", 100, 0.88);
  other.axes = {{"D", "8192"}, {"dtype", "bf16"}};
  EXPECT_EQ(nearest_limit_text({latency_of("native", "native", 100, 0.88), other}), "");
}

}  // namespace
}  // namespace headroom
