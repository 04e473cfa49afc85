// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda_device/launch_samples.h"

#include <gmock/gmock.h>

#include <set>

#include "fake_runtime.h"

namespace headroom::cuda {
namespace {

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

/// A case that reads 512 KiB; the L2 of the test's device has 1 MiB.
ThreeSamples measured(double work_ns, const Surround& around = {}) {
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
  const Surround around = [&](const std::function<void()>& capture) {
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
