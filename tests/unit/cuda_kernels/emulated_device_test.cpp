// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"

#include <gmock/gmock.h>

#include <cmath>
#include <stdexcept>
#include <vector>

namespace headroom::emulated {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(EmulatedDevice, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> calls(3 * 64);
  launch(3, 64, Order::kForward, [&] { ++calls[blockIdx.x * blockDim.x + threadIdx.x]; });
  EXPECT_THAT(calls, testing::Each(1));
}

TEST(EmulatedDevice, ABarrierComesBetweenWritesAndReads) {
  for (const Order order : {Order::kForward, Order::kBackward}) {
    std::vector<unsigned> written(64), read(64);
    launch(1, 64, order, [&] {
      written[threadIdx.x] = threadIdx.x + 1;
      __syncthreads();
      read[threadIdx.x] = written[63 - threadIdx.x];
    });
    for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(read[i], 64 - i);
  }
}

TEST(EmulatedDevice, WithoutTheBarrierOneOfTheOrdersReadsTooEarly) {
  int too_early = 0;
  for (const Order order : {Order::kForward, Order::kBackward}) {
    std::vector<unsigned> written(64), read(64);
    launch(1, 64, order, [&] {
      written[threadIdx.x] = 1;
      read[threadIdx.x] = written[(threadIdx.x + 1) % 64];
    });
    for (const unsigned value : read) too_early += value == 0;
  }
  EXPECT_GT(too_early, 0);
}

TEST(EmulatedDevice, LanesOfAWarpExchange) {
  std::vector<float> sums(64);
  launch(1, 64, Order::kBackward, [&] {
    auto value = static_cast<float>(threadIdx.x);
    for (int apart = 16; apart > 0; apart /= 2) value += __shfl_xor_sync(0xffffffffU, value, apart);
    sums[threadIdx.x] = value;
  });
  for (unsigned i = 0; i < 64; ++i) EXPECT_EQ(sums[i], i < 32 ? 496 : 1520);
}

TEST(EmulatedDevice, AnEarlyLaunchFindsWhatTheOneBeforeWroteOnceItHasWaited) {
  int early = 0, later = 0, written = 0;
  launch_early(
      2, 64, Order::kForward, [&] { written = 1; },
      [&] {
        if (threadIdx.x == 0 && blockIdx.x == 0) early = written;
        wait_for_previous_launch();
        later += written;
      });
  EXPECT_EQ(early, 0);
  EXPECT_EQ(later, 2 * 64);
  EXPECT_THAT(
      [] {
        launch_early(
            1, 32, Order::kForward, [] {}, [] {});
      },
      ThrowsMessage<std::logic_error>(HasSubstr("no thread waited")));
}

TEST(EmulatedDevice, SharedMemoryHoldsNansWhenABlockStarts) {
  std::vector<float> found;
  launch(2, 32, Order::kForward, [&] {
    __shared__ float shared[1];
    if (threadIdx.x == 0) found.push_back(shared[0]);
    shared[0] = 1;
  });
  ASSERT_EQ(found.size(), 2U);
  EXPECT_TRUE(std::isnan(found[0]) && std::isnan(found[1]));
}

TEST(EmulatedDevice, ABarrierThatNotAllThreadsReachIsAnError) {
  EXPECT_THAT(
      [] {
        launch(1, 64, Order::kForward, [] {
          if (threadIdx.x < 40) __syncthreads();
        });
      },
      ThrowsMessage<std::logic_error>(HasSubstr("40 threads wait for the block")));
}

TEST(EmulatedDevice, AnExchangeWithALaneThatHasEndedIsAnError) {
  EXPECT_THAT(
      [] {
        launch(1, 32, Order::kForward, [] {
          if (threadIdx.x < 8) exchange(0, 1);
        });
      },
      ThrowsMessage<std::logic_error>(HasSubstr("8 for their warp")));
}

}  // namespace
}  // namespace headroom::emulated
