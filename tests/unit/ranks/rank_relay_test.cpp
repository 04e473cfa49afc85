// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
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

/// That nobody has at the moment.
std::uint16_t free_port() {
  return ReservedPort().number();
}

/// A connection to the port where rank 0 listens, however late that is.
Channel stranger_at(std::uint16_t port, const std::string& says) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  for (int tries = 0; tries < 400; ++tries) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
      EXPECT_EQ(::send(fd, says.data(), says.size(), MSG_NOSIGNAL), static_cast<ssize_t>(says.size()));
      return Channel(fd);
    }
    ::close(fd);
    std::this_thread::sleep_for(milliseconds(5));
  }
  return Channel(-1);
}

RankPlace place_over_tcp(int rank, const Meeting& meeting) {
  RankPlace place = place_of(rank, 2);
  place.local_size.reset();
  place.meeting = meeting;
  return place;
}

TEST_F(RankRelay, StrangersEndNothing) {
  const std::string kSayings[] = {"{\"rank\":1,\"size\":99}\n",
                                  "{\"rank\":1e300,\"size\":2}\n",
                                  "{\"rank\":-1,\"size\":2}\n",
                                  "{\"rank\":0,\"size\":2}\n",
                                  std::string("\0\xff\n", 3),
                                  std::string(100'000, '['),
                                  "{\"rank\":1,\"size\":2}\n",
                                  "{\"rank\":1,\"size\":2,\"token\":\"guess\"}\n",
                                  ""};
  const std::uint16_t number = free_port();
  const Meeting meeting{"127.0.0.1", number};
  RankPlace first = place_over_tcp(0, meeting), second = place_over_tcp(1, meeting);
  first.token = second.token = "secret";
  auto strangers = std::async(std::launch::async, [&] {
    std::vector<Channel> all;
    for (int i = 0; i < 60; ++i) all.push_back(stranger_at(number, kSayings[i % std::size(kSayings)]));
    const std::string came = follower(second, kEcho).get();
    return came;
  });
  {
    auto group = lead_ranks(first, command_of(kEcho), kRelayLong);
    ASSERT_TRUE(group);
    group->send("a");
    EXPECT_THAT(*group->gather(kRelayLong, "an answer"), ElementsAre("0/2:a", "1/2:a"));
    group->finish(kRelayLong);
  }
  EXPECT_EQ(strangers.get(), "fine");
}

TEST_F(RankRelay, WithoutATokenAWorldThatDiffersIsRefusedAndCounted) {
  const std::uint16_t number = free_port();
  auto stranger = std::async(std::launch::async, [&] {
    const Channel held = stranger_at(number, "{\"rank\":1,\"size\":99}\n");
    std::this_thread::sleep_for(kRelayShort);
  });
  try {
    lead_ranks(place_over_tcp(0, {"127.0.0.1", number}), command_of(kEcho), kRelayShort);
    FAIL();
  } catch (const RankLost& lost) {
    EXPECT_THAT(
        lost.what(),
        HasSubstr(
            "rank 1 of 2 did not come within 0.4 s; 1 connection was refused that was not of this job"));
  }
}

TEST_F(RankRelay, OnOneMachineNobodyListensToTheNetwork) {
  RankPlace first = place_of(0, 2), second = place_of(1, 2);
  const std::uint16_t number = free_port();
  first.meeting = second.meeting = Meeting{"0.0.0.0", number};
  auto group =
      std::async(std::launch::async, [&] { return lead_ranks(first, command_of(kEcho), kRelayLong); });
  std::this_thread::sleep_for(milliseconds(200));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(number);
  EXPECT_NE(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  auto other = follower(second, kEcho);
  group.get()->finish(kRelayLong);
  EXPECT_EQ(other.get(), "fine");
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
