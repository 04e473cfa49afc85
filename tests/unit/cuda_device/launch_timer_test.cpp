// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <stdexcept>

#include "fake_runtime.h"
#include "headroom_cuda_device/launch_timer.h"

namespace headroom::cuda {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

class LaunchTimerTest : public testing::Test {
 protected:
  void SetUp() override { reset_fake_runtime(); }

  LaunchTimer timer(std::size_t copies, double work_ns, RunWrapper around = {}) {
    fake_runtime().work_ns = work_ns;
    return LaunchTimer(device_, launch_, copies, std::move(around));
  }
  static std::vector<std::string> forgotten() {
    std::vector<std::string> calls;
    std::swap(calls, fake_runtime().calls);
    fake_runtime().ran.clear();
    return calls;
  }
  static void expect_rotation(std::size_t copies) {
    const std::vector<std::size_t>& ran = fake_runtime().ran;
    for (std::size_t i = 1; i < ran.size(); ++i) ASSERT_EQ(ran[i], (ran[i - 1] + 1) % copies) << i;
  }

  Device device_;
  const Launch launch_ = [](std::size_t copy, cudaStream_t) { fake_runtime().put_work(copy); };
};

TEST_F(LaunchTimerTest, ShortIterationsAreGraphsThatWereMadeBeforeTheClockStarts) {
  LaunchTimer short_ones = timer(3, 5e3);
  EXPECT_FALSE(short_ones.launches_one_by_one());
  forgotten();
  EXPECT_NEAR(short_ones.time(1000), 1000 * 5e3, 1);
  EXPECT_EQ(fake_runtime().ran.size(), 1000U);
  expect_rotation(3);
  const std::vector<std::string> calls = forgotten();
  const auto first_event = std::ranges::find(calls, "event");
  EXPECT_THAT(std::vector(first_event, calls.end()), Not(Contains("begin capture")));
  EXPECT_THAT(std::vector(first_event, calls.end()), Not(Contains("upload")));
  EXPECT_EQ(*(first_event - 1), "hold") << "the stream is held until work stands behind the event";
}

TEST_F(LaunchTimerTest, TheRotationGoesOnFromSampleToSample) {
  LaunchTimer short_ones = timer(7, 5e3);
  forgotten();
  for (const std::uint64_t iterations : {10U, 1U, 300U, 2U, 1000U}) {
    EXPECT_NEAR(short_ones.time(iterations), static_cast<double>(iterations) * 5e3, 1);
  }
  EXPECT_EQ(fake_runtime().ran.size(), 1313U);
  expect_rotation(7);
}

TEST_F(LaunchTimerTest, LongIterationsAreLaunchedAsTheyAre) {
  LaunchTimer long_ones = timer(2, 300e3);
  EXPECT_TRUE(long_ones.launches_one_by_one());
  forgotten();
  EXPECT_NEAR(long_ones.time(100), 100 * 300e3, 10);
  EXPECT_THAT(forgotten(), ElementsAre("hold", "event", "event"));
}

TEST_F(LaunchTimerTest, ASingleIterationHasNothingAroundItButTheEvents) {
  LaunchTimer short_ones = timer(2, 5e3);
  forgotten();
  short_ones.time(1);
  EXPECT_THAT(forgotten(), ElementsAre("event", "event"));
}

TEST_F(LaunchTimerTest, WhoMustKnowOfCapturesIsAroundEachAndAroundNothingElse) {
  LaunchTimer short_ones = timer(2, 5e3, [](const std::function<void()>& capture) {
    fake_runtime().calls.emplace_back("before");
    capture();
    fake_runtime().calls.emplace_back("after");
  });
  EXPECT_THAT(forgotten(), Not(Contains("before")));
  short_ones.time(10);
  EXPECT_THAT(forgotten(), ElementsAre("before", "begin capture", "end capture", "after", "upload", "hold",
                                       "event", "graph", "event"));
  short_ones.time(10);
  EXPECT_THAT(forgotten(), Not(Contains("before"))) << "the graph is there";
}

TEST_F(LaunchTimerTest, ALaunchThatFailsLeavesNoStreamInCapture) {
  bool fails = false;
  const Launch launch = [&](std::size_t copy, cudaStream_t) {
    if (fails) throw std::runtime_error("refused");
    fake_runtime().put_work(copy);
  };
  LaunchTimer short_ones(device_, launch, 2);
  forgotten();
  fails = true;
  EXPECT_THROW(short_ones.time(10), std::runtime_error);
  EXPECT_THAT(forgotten(), ElementsAre("begin capture", "end capture"));
}

class ThreeSamples final : public SampleSource {
 public:
  void ready(const CaseInfo& said) override { info = said; }
  std::optional<SampleRequest> next() override {
    if (samples.size() == 3) return std::nullopt;
    return SampleRequest{10, 2};
  }
  void deliver(const Sample& sample) override { samples.push_back(sample); }

  CaseInfo info;
  std::vector<Sample> samples;
};

/// Reads 512 KiB; the test device's L2 has 1 MiB.
ThreeSamples measured(double work_ns, const RunWrapper& around = {}) {
  reset_fake_runtime();
  fake_runtime().work_ns = work_ns;
  ThreeSamples source;
  SharedObjects shared;
  State state({}, source, shared);
  const auto device = device_of(state);
  state.rotate(std::size_t{1} << 19);
  const Launch launch = [](std::size_t copy, cudaStream_t) { fake_runtime().put_work(copy); };
  measure_on_device(state, *device, launch, around);
  return source;
}

TEST(LaunchSamples, AreTheTimeOfTheDeviceWithoutTheirLeadIn) {
  const ThreeSamples source = measured(5e3);
  ASSERT_EQ(source.samples.size(), 3U);
  for (const Sample& sample : source.samples) EXPECT_NEAR(sample.elapsed_ns, 10 * 5e3, 1);
}

TEST(LaunchSamples, AreOfAsManyCopiesAsExceedTwiceTheL2OfTheDevice) {
  EXPECT_EQ(measured(5e3).info.copies, 4U);
  EXPECT_EQ(std::set<std::size_t>(fake_runtime().ran.begin(), fake_runtime().ran.end()),
            (std::set<std::size_t>{0, 1, 2, 3}));
}

TEST(LaunchSamples, SayHowTheyWereLaunchedAndOnWhat) {
  const CaseInfo short_ones = measured(5e3).info;
  EXPECT_EQ(short_ones.notes.at("launches"), "captured into graphs");
  EXPECT_EQ(short_ones.notes.at("gpu"), "Fake GPU");
  EXPECT_EQ(measured(300e3).info.notes.at("launches"), "one by one");
}

TEST(LaunchSamples, TellAnAllocatorOfTheirCapturesAlone) {
  int captures = 0;
  const RunWrapper around = [&](const std::function<void()>& capture) {
    ++captures;
    capture();
  };
  measured(300e3, around);
  EXPECT_EQ(captures, 0);
  measured(5e3, around);
  EXPECT_GT(captures, 0);
}

}  // namespace
}  // namespace headroom::cuda
