// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/noise_marks.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

Record with_limit(double fraction, std::optional<Interval> interval) {
  Record record;
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 20, fraction, interval, false};
  return record;
}

TEST(NoiseMarks, ACleanRecordHasNone) {
  Record record = with_limit(0.9, Interval{0.89, 0.91, 0.95});
  record.stop = StopReason::kPrecision;
  record.samples = {{1, 1, 0, {1, 2}, {0, 1}, {}}};
  record.samples[0].noise.resize(2);
  EXPECT_EQ(noise_marks(record), "");
  EXPECT_EQ(marks_legend(""), "");
}

TEST(NoiseMarks, AboveTheLimitOnlyBeyondTheInterval) {
  EXPECT_EQ(noise_marks(with_limit(1.02, Interval{0.99, 1.05, 0.95})), "");
  EXPECT_EQ(noise_marks(with_limit(1.02, Interval{1.01, 1.05, 0.95})), "A");
  EXPECT_EQ(noise_marks(with_limit(1.02, std::nullopt)), "A");
}

TEST(NoiseMarks, SayWhereALimitIsOfOtherPages) {
  Record record = with_limit(0.9, Interval{0.89, 0.91, 0.95});
  record.notes = {"steal: the hypervisor took 5 ms of 10 ms"};
  EXPECT_EQ(noise_marks(record), "");
  record.notes.push_back(
      "pages: 0 % of its inputs and outputs lies in huge pages, 100 % of those of its limit (read)");
  EXPECT_EQ(noise_marks(record), "P");
}

TEST(NoiseMarks, StealCountsFromATenthOfTheSamples) {
  Record record;
  record.samples.resize(1);
  record.samples[0].values.assign(20, 1);
  record.samples[0].noise.resize(20);
  record.samples[0].noise.set(3, {.steal_ms = 10});
  EXPECT_EQ(noise_marks(record), "");
  record.samples[0].noise.set(4, {.steal_ms = 10});
  EXPECT_EQ(noise_marks(record), "S");
}

TEST(NoiseMarks, ADeviceHeldDownCountsFromATenthOfTheSamples) {
  Record record;
  record.samples.resize(1);
  record.samples[0].values.assign(20, 1);
  record.samples[0].device.resize(20);
  for (DeviceNoise& device : record.samples[0].device) device.throttle = 0x002;
  record.samples[0].device[3].throttle = 0x004;
  EXPECT_EQ(noise_marks(record), "") << "clocks that somebody chose do not disturb";
  record.samples[0].device[4].throttle = 0x042;
  EXPECT_EQ(noise_marks(record), "H");
}

TEST(NoiseMarks, EachStopReasonAndWarmup) {
  Record record;
  record.stop = StopReason::kMaxTime;
  EXPECT_EQ(noise_marks(record), "T");
  record.stop = StopReason::kMaxSamples;
  EXPECT_EQ(noise_marks(record), "T");
  record.stop = StopReason::kInterrupted;
  EXPECT_EQ(noise_marks(record), "I");
  record.stop = StopReason::kRunnerLost;
  record.samples = {{1, 1, 2, {3, 2, 1}, {}, {}}};
  record.limit = Limit{{{"read", 1 << 20, "linear", "", 2}}, 20, 0.5, std::nullopt, true};
  EXPECT_EQ(noise_marks(record), "UWL");
}

TEST(NoiseMarks, AMachineThatWasBusyBeforehand) {
  Record record;
  record.notes = {"warm-up: 3 leading samples are kept but not counted"};
  EXPECT_EQ(noise_marks(record), "");
  record.busy_cpus = 2.0;
  EXPECT_EQ(noise_marks(record), "B");
}

TEST(NoiseMarks, AFailedCaseHasNone) {
  Record record;
  record.outcome = {Outcome::Kind::kFailed, "killed"};
  record.stop = StopReason::kRunnerLost;
  EXPECT_EQ(noise_marks(record), "");
}

TEST(MarksLegend, ExplainsEachLetterOnce) {
  const std::string legend = marks_legend("UTUT");
  EXPECT_EQ(legend,
            "  U  the limit itself moved by more than 10 % between its quartiles\n"
            "  T  stopped by the cap on time or samples before the precision goal\n");
}

}  // namespace
}  // namespace headroom
