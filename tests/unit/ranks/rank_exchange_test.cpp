// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <functional>
#include <string>
#include <thread>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using namespace std::chrono_literals;

/// Calls `rank` on a thread for each rank; what they gather passes through memory.
void on_ranks(int ranks, const std::function<void(const ExchangeRing&)>& rank) {
  std::vector<std::int64_t> numbers(static_cast<std::size_t>(ranks));
  std::barrier all(ranks);
  std::vector<std::jthread> threads;
  for (int own = 0; own < ranks; ++own) {
    threads.emplace_back([&, own] {
      const auto gather = [&, own](std::int64_t number) {
        numbers[static_cast<std::size_t>(own)] = number;
        all.arrive_and_wait();
        const std::vector<std::int64_t> gathered = numbers;
        all.arrive_and_wait();
        return gathered;
      };
      rank({own, ranks, gather, 10s});
    });
  }
}

class RankExchange : public testing::TestWithParam<std::tuple<const char*, int, std::size_t>> {};

TEST_P(RankExchange, BringsEachRankWhatTheOneBeforeSent) {
  const auto& [way, ranks, bytes] = GetParam();
  std::atomic<int> right = 0;
  on_ranks(ranks, [&, way = std::string(way), bytes = bytes](const ExchangeRing& ring) {
    const auto exchange = make_exchange(way, bytes, ring);
    EXPECT_FALSE(exchange->is_right()) << "before a round";
    exchange->run(1);
    if (exchange->is_right()) ++right;
    exchange->run(20);
    if (exchange->is_right()) ++right;
  });
  EXPECT_EQ(right, 2 * ranks);
}

INSTANTIATE_TEST_SUITE_P(Ways, RankExchange,
                         testing::Combine(testing::Values("loopback", "shared_memory"), testing::Values(2, 3),
                                          testing::Values(1U, 1024U, 3'000'001U)));

TEST(RankExchangeFaults, ARankThatNeverComesIsNamedInTime) {
  for (const std::string way : {"loopback", "shared_memory"}) {
    on_ranks(2, [&](const ExchangeRing& ring) {
      ExchangeRing hasty = ring;
      hasty.timeout = 50ms;
      const auto exchange = make_exchange(way, 8, hasty);
      if (ring.rank == 1) {
        // Rank 0 waits for it in vain.
        std::this_thread::sleep_for(300ms);
        return;
      }
      EXPECT_THROW(exchange->run(1), Error) << way;
    });
  }
}

TEST(RankExchangeFaults, AnUnknownWayIsRefused) {
  EXPECT_THROW(make_exchange("pigeon", 8, {0, 2, {}, 1s}), Error);
}

}  // namespace
}  // namespace headroom
