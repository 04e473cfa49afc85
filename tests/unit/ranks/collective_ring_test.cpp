// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/collective_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::vector<int> kFour{0, 1, 2, 3};

TEST(CollectiveRing, KeepsWhatWasCalledWithItsTimesAndState) {
  CollectiveRing ring = CollectiveRing::create();
  const int world = ring.add_group("world", kFour), row = ring.add_group("row", std::vector<int>{2, 3});
  const auto first = ring.begin(world, "all_reduce", "f32", 1024, 1024);
  ring.started(first);
  ring.completed(first);
  ring.begin(row, "all_gather", "f64", 8, 16);
  const auto third = ring.begin(world, "broadcast", "i32", 4, 4);
  ring.started(third);
  ring.failed(third);

  const CollectiveHistory history = ring.read();
  ASSERT_EQ(history.groups.size(), 2U);
  EXPECT_EQ(history.groups[1], (CollectiveGroup{"row", {2, 3}, 2}));
  ASSERT_EQ(history.calls.size(), 3U);
  const CollectiveEntry& done = history.calls[0];
  EXPECT_EQ(done.op, "all_reduce");
  EXPECT_EQ(done.dtype, "f32");
  EXPECT_EQ(done.elements_in, 1024);
  EXPECT_EQ(done.state, CollectiveState::kCompleted);
  EXPECT_GT(done.created_ns, 0);
  EXPECT_LE(done.created_ns, done.started_ns);
  EXPECT_LE(done.started_ns, done.completed_ns);
  EXPECT_LE(done.completed_ns, history.now_ns);
  EXPECT_EQ(history.calls[1].state, CollectiveState::kCreated);
  EXPECT_EQ(history.calls[1].elements_out, 16);
  EXPECT_EQ(history.calls[1].started_ns, 0);
  EXPECT_EQ(history.calls[2].state, CollectiveState::kFailed);
}

TEST(CollectiveRing, EachGroupCountsItsOwn) {
  CollectiveRing ring = CollectiveRing::create();
  const int world = ring.add_group("world", kFour), row = ring.add_group("row", kFour);
  for (const int group : {world, row, world, world}) ring.completed(ring.begin(group, "barrier", "", 0, 0));
  std::vector<std::uint64_t> sequences;
  for (const CollectiveEntry& entry : ring.read().calls) sequences.push_back(entry.sequence);
  EXPECT_THAT(sequences, ElementsAre(0, 0, 1, 2));
}

TEST(CollectiveRing, AnEqualGroupIsTheSameOne) {
  CollectiveRing ring = CollectiveRing::create();
  EXPECT_EQ(ring.add_group("world", kFour), 0);
  EXPECT_EQ(ring.add_group("world", std::vector<int>{0, 1}), 1);
  EXPECT_EQ(ring.add_group("row", kFour), 2);
  EXPECT_EQ(ring.add_group("world", kFour), 0);
  EXPECT_EQ(ring.read().groups.size(), 3U);
}

TEST(CollectiveRing, TheLastAreKeptAndWhatWasOverwrittenIsNotTouched) {
  CollectiveRing ring = CollectiveRing::create();
  const int world = ring.add_group("world", kFour);
  const auto oldest = ring.begin(world, "all_reduce", "f32", 1, 1);
  for (std::size_t i = 0; i < CollectiveRing::kCalls; ++i) ring.begin(world, "broadcast", "f32", 1, 1);
  ring.completed(oldest);
  const CollectiveHistory history = ring.read();
  ASSERT_EQ(history.calls.size(), CollectiveRing::kCalls);
  EXPECT_EQ(history.calls.front().sequence, 1U);
  EXPECT_EQ(history.calls.back().sequence, CollectiveRing::kCalls);
  for (const CollectiveEntry& entry : history.calls) EXPECT_EQ(entry.state, CollectiveState::kCreated);
}

TEST(CollectiveRing, NamesThatAreTooLongAreCutAndGroupsThatAreTooManyShareTheLast) {
  CollectiveRing ring = CollectiveRing::create();
  std::vector<int> many(100);
  EXPECT_EQ(ring.add_group(std::string(500, 'g'), many), 0);
  for (int i = 1; i < 40; ++i) EXPECT_EQ(ring.add_group("g" + std::to_string(i), kFour), std::min(i, 15));
  ring.begin(15, std::string(500, 'o'), std::string(500, 'd'), 1, 1);
  const CollectiveHistory history = ring.read();
  EXPECT_EQ(history.groups.size(), CollectiveRing::kGroups);
  EXPECT_EQ(history.groups[0].size, 100);
  EXPECT_EQ(history.groups[0].ranks.size(), 64U);
  EXPECT_EQ(history.calls[0].op, std::string(23, 'o'));
}

TEST(CollectiveRing, IsReadAfterItsWriterWasKilled) {
  CollectiveRing ring = CollectiveRing::create();
  const pid_t child = ::fork();
  if (child == 0) {
    const int world = ring.add_group("world", kFour);
    ring.completed(ring.begin(world, "broadcast", "f32", 7, 7));
    ring.started(ring.begin(world, "all_reduce", "f32", 7, 7));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const CollectiveHistory history = ring.read();
  ASSERT_EQ(history.calls.size(), 2U);
  EXPECT_EQ(history.calls[1].state, CollectiveState::kStarted);
}

TEST(CollectiveRing, ManyThreadsWriteOne) {
  CollectiveRing ring = CollectiveRing::create();
  const int world = ring.add_group("world", kFour);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int call = 0; call < 8; ++call) ring.completed(ring.begin(world, "all_reduce", "f32", 1, 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  const CollectiveHistory history = ring.read();
  ASSERT_EQ(history.calls.size(), 32U);
  for (const CollectiveEntry& entry : history.calls) EXPECT_EQ(entry.state, CollectiveState::kCompleted);
}

class Inherited : public testing::Test {
 protected:
  void TearDown() override { ::unsetenv(CollectiveRing::kVariable); }
  static void tell(const std::string& text) { ::setenv(CollectiveRing::kVariable, text.c_str(), 1); }
};

TEST_F(Inherited, IsTheOneThatWasHandedDown) {
  CollectiveRing ring = CollectiveRing::create();
  tell(std::to_string(::dup(ring.fd())));
  CollectiveRing child = CollectiveRing::inherited();
  EXPECT_EQ(std::getenv(CollectiveRing::kVariable), nullptr) << "not for its own children";
  child.begin(child.add_group("world", kFour), "broadcast", "f32", 1, 1);
  EXPECT_EQ(ring.read().calls.size(), 1U);
}

TEST_F(Inherited, WithoutOneItIsAlone) {
  EXPECT_THAT(CollectiveRing::inherited().read().calls, IsEmpty());
}

TEST_F(Inherited, WhatIsNoRingIsAnError) {
  for (const char* text : {"x", "-1", "999", "0"}) {
    tell(text);
    EXPECT_THROW(CollectiveRing::inherited(), Error) << text;
  }
}

}  // namespace
}  // namespace headroom
