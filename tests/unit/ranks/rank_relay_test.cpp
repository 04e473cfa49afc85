// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <future>
#include <thread>

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr milliseconds kRelayLong(20000);
constexpr milliseconds kRelayShort(400);

RankCommand command_of(const std::string& script) {
  RankCommand command;
  command.arguments = {"/bin/sh", "-c", script};
  command.channel_variable = "LINES_FD";
  return command;
}

RankPlace place_of(int rank, int size) {
  RankPlace place;
  place.rank = place.local_rank = rank;
  place.size = size;
  place.local_size = size;
  place.launcher = "test";
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  place.job = std::string(test->name()) + std::to_string(::getpid());
  return place;
}

/// A follower on a thread of its own; what it threw, or "fine".
std::future<std::string> follower(const RankPlace& place, const std::string& script) {
  return std::async(std::launch::async, [place, script]() -> std::string {
    try {
      return follow_leader(place, command_of(script), kRelayLong) ? "fine" : "gave up";
    } catch (const Error& error) {
      return error.what();
    }
  });
}

class RankRelay : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a process was left";
  }
};

const char* kEcho = R"(while read line <&$LINES_FD; do echo "$RANK/$WORLD_SIZE:$line" >&$LINES_FD; done)";

TEST_F(RankRelay, TheLeaderSpeaksWithAllRanks) {
  auto second = follower(place_of(1, 3), kEcho), third = follower(place_of(2, 3), kEcho);
  {
    auto group = lead_ranks(place_of(0, 3), command_of(kEcho), kRelayLong);
    ASSERT_TRUE(group);
    for (const std::string word : {"a", "b"}) {
      group->send(word);
      EXPECT_THAT(*group->gather(kRelayLong, "an answer"),
                  ElementsAre("0/3:" + word, "1/3:" + word, "2/3:" + word));
    }
    group->finish(kRelayLong);
  }
  EXPECT_EQ(second.get(), "fine");
  EXPECT_EQ(third.get(), "fine");
}

TEST_F(RankRelay, AllRanksAreToldOneMeeting) {
  RankPlace first = place_of(0, 2), second = place_of(1, 2);
  const ReservedPort free;
  first.meeting = second.meeting = Meeting{"127.0.0.1", free.number()};
  const std::string tell = "echo $MASTER_ADDR $MASTER_PORT >&$LINES_FD; read end <&$LINES_FD";
  auto other = follower(second, tell);
  {
    auto group = lead_ranks(first, command_of(tell), kRelayLong);
    const std::string meeting = "127.0.0.1 " + std::to_string(group->port());
    EXPECT_THAT(*group->gather(kRelayLong, "a meeting"), ElementsAre(meeting, meeting));
    EXPECT_NE(group->port(), free.number());
  }
  EXPECT_EQ(other.get(), "fine");
}

TEST_F(RankRelay, ARankThatDiesElsewhereIsNamedWithItsLastWords) {
  auto other = follower(place_of(1, 2), "echo up >&$LINES_FD; echo no disk >&2; exit 3");
  {
    auto group = lead_ranks(place_of(0, 2), command_of("echo up >&$LINES_FD; sleep 100"), kRelayLong);
    group->gather(kRelayLong, "its greeting");
    try {
      group->gather(kRelayLong, "an answer");
      FAIL();
    } catch (const RankLost& lost) {
      EXPECT_THAT(lost.what(), HasSubstr("rank 1 of 2 ended with exit code 3; its last words: no disk"));
    }
  }
  EXPECT_THAT(other.get(), HasSubstr("exit code 3"));
}

TEST_F(RankRelay, RanksThatDoNotComeAreNamed) {
  auto other = follower(place_of(1, 4), kEcho);
  try {
    lead_ranks(place_of(0, 4), command_of(kEcho), kRelayShort);
    FAIL();
  } catch (const RankLost& lost) {
    EXPECT_THAT(lost.what(), HasSubstr("ranks 2, 3 of 4 did not come within 0.4 s"));
  }
  EXPECT_THAT(other.get(), HasSubstr("rank 0 ended before all 4 ranks had come"));
}

TEST_F(RankRelay, WithoutALeaderAFollowerEnds) {
  EXPECT_THROW(follow_leader(place_of(1, 2), command_of(kEcho), kRelayShort), Error);
}

TEST_F(RankRelay, WorldsThatDifferAreAnError) {
  RankPlace stranger = place_of(1, 3);
  auto other = follower(stranger, kEcho);
  EXPECT_THROW(lead_ranks(place_of(0, 2), command_of(kEcho), kRelayLong), RankLost);
  other.get();
}

TEST_F(RankRelay, SeveralMachinesNeedAMeeting) {
  RankPlace place = place_of(0, 2);
  place.local_size = 1;
  try {
    lead_ranks(place, command_of(kEcho), kRelayShort);
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("set MASTER_ADDR and MASTER_PORT"));
  }
}

TEST_F(RankRelay, OneRankNeedsNobody) {
  RankPlace place = place_of(0, 1);
  place.local_size.reset();
  auto group = lead_ranks(place, command_of("echo alone >&$LINES_FD"), kRelayShort);
  EXPECT_THAT(*group->gather(kRelayLong, "its greeting"), ElementsAre("alone"));
}

}  // namespace
}  // namespace headroom
