// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <csignal>

namespace headroom {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

constexpr milliseconds kLong(20000);
constexpr milliseconds kShort(300);

/// Ranks that run `script`, with their channel as descriptor $LINES_FD.
RankCommand ranks(int count, const std::string& script) {
  RankCommand command;
  command.arguments = {"/bin/sh", "-c", script};
  command.channel_variable = "LINES_FD";
  command.ranks = count;
  return command;
}

std::string loss_of(const RankCommand& command, milliseconds timeout) {
  RankGroup group(command);
  try {
    group.gather(timeout, "its greeting");
    group.finish(timeout);
  } catch (const RankLost& lost) {
    return lost.what();
  }
  return "nothing lost";
}

class RankGroupTest : public testing::Test {
 protected:
  void TearDown() override {
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a process was left";
  }
};

TEST_F(RankGroupTest, EachRankKnowsItsPlaceAndHasItsLine) {
  RankGroup group(ranks(3, R"(echo "$RANK $WORLD_SIZE $LOCAL_RANK $MASTER_ADDR $MASTER_PORT" >&$LINES_FD)"));
  const std::string end = " 127.0.0.1 " + std::to_string(group.port());
  const auto lines = group.gather(kLong, "its greeting");
  ASSERT_TRUE(lines);
  EXPECT_THAT(*lines, ElementsAre("0 3 0" + end, "1 3 1" + end, "2 3 2" + end));
  group.finish(kLong);
}

TEST_F(RankGroupTest, LinesGoBothWaysTurnByTurn) {
  RankGroup group(ranks(2, R"(while read line <&$LINES_FD; do echo "$RANK:$line" >&$LINES_FD; done)"));
  for (const std::string word : {"a", "b"}) {
    group.send(word);
    EXPECT_THAT(*group.gather(kLong, "an answer"), ElementsAre("0:" + word, "1:" + word));
  }
  group.finish(kLong);
}

TEST_F(RankGroupTest, LinesThatComeEarlyAreForTheNextTurn) {
  RankGroup group(ranks(2, "echo 1 >&$LINES_FD; echo 2 >&$LINES_FD"));
  EXPECT_THAT(*group.gather(kLong, "an answer"), ElementsAre("1", "1"));
  EXPECT_THAT(*group.gather(kLong, "an answer"), ElementsAre("2", "2"));
}

TEST_F(RankGroupTest, ARankThatDiesIsNamedWithItsLastWordsAndTheOthersEnd) {
  const auto begin = Clock::now();
  const std::string loss =
      loss_of(ranks(3, "if [ $RANK = 1 ]; then echo no disk >&2; exit 3; fi; sleep 100"), kLong);
  EXPECT_THAT(loss, HasSubstr("rank 1 of 3 ended with exit code 3; its last words: no disk; the others"));
  EXPECT_LT(Clock::now() - begin, milliseconds(5000));
}

TEST_F(RankGroupTest, ARankThatIsKilledIsNamed) {
  EXPECT_THAT(loss_of(ranks(2, "if [ $RANK = 0 ]; then kill -9 $$; fi; sleep 100"), kLong),
              HasSubstr("rank 0 of 2 was killed by signal 9"));
}

TEST_F(RankGroupTest, TheFirstOfThoseThatDiedIsNamedFirst) {
  const std::string loss =
      loss_of(ranks(2, "[ $RANK = 0 ] && sleep 0.05; echo down $RANK >&2; exit 4"), kLong);
  EXPECT_THAT(loss,
              HasSubstr("rank 1 of 2 ended with exit code 4; its last words: down 1; then rank 0 of 2"));
  EXPECT_THAT(loss, Not(HasSubstr("others")));
}

TEST_F(RankGroupTest, RanksThatHangAreNamedWithinTheTimeOut) {
  const auto begin = Clock::now();
  const std::string loss = loss_of(
      ranks(4, "[ $RANK != 1 ] && [ $RANK != 3 ] && echo up >&$LINES_FD; echo waiting >&2; sleep 100"),
      kShort);
  EXPECT_THAT(loss,
              HasSubstr("ranks 1, 3 of 4 did not give its greeting within 0.3 s; rank 1 its last words: "
                        "waiting; rank 3 its last words: waiting; all ranks were ended"));
  EXPECT_LT(Clock::now() - begin, milliseconds(5000));
}

TEST_F(RankGroupTest, ARankThatIsStoppedIsSaidToBe) {
  const std::string loss =
      loss_of(ranks(2, "[ $RANK = 1 ] && kill -STOP $$; echo up >&$LINES_FD; sleep 100"), kShort);
  EXPECT_THAT(loss, HasSubstr("rank 1 of 2 did not give"));
  EXPECT_THAT(loss, HasSubstr("rank 1 is stopped by a signal"));
}

/// A rank that never answers, in `calls` collectives of which it completed all but the last.
RankMember silent_rank(std::vector<Channel>& other_ends, int calls) {
  auto [ours, theirs] = Channel::pair();
  other_ends.push_back(std::move(theirs));
  RankMember member{std::move(ours)};
  CollectiveRing& ring = member.collectives.emplace(CollectiveRing::create());
  const int world = ring.add_group("world", std::vector<int>{0, 1, 2});
  for (int call = 1; call <= calls; ++call) {
    const auto begun = ring.begin(world, "all_reduce", "f32", 64, 64);
    ring.started(begun);
    if (call < calls || calls == 1) ring.completed(begun);
  }
  return member;
}

TEST_F(RankGroupTest, WhoDidNotArriveInACollectiveIsNamedWithTheLastOfEachRank) {
  std::vector<Channel> other_ends;
  std::vector<RankMember> members;
  for (const int calls : {2, 1, 2}) members.push_back(silent_rank(other_ends, calls));
  RankGroup group(std::move(members), ReservedPort());
  try {
    group.gather(kShort, "an answer");
    FAIL();
  } catch (const RankLost& lost) {
    EXPECT_THAT(lost.what(), HasSubstr("in all_reduce 1 of 'world' (64 f32); rank 1 did not arrive: its last "
                                       "was all_reduce 0, completed"));
    EXPECT_THAT(lost.what(), HasSubstr("last collectives of each rank:\nrank  group"));
  }
}

TEST_F(RankGroupTest, TheCollectiveOfARankThatIsGoneIsNamed) {
  std::vector<Channel> other_ends;
  std::vector<RankMember> members;
  members.push_back(silent_rank(other_ends, 2));
  other_ends.clear();
  RankGroup group(std::move(members), ReservedPort());
  try {
    group.gather(kShort, "an answer");
    FAIL();
  } catch (const RankLost& lost) {
    EXPECT_THAT(lost.what(), HasSubstr("it was in all_reduce 1 of 'world'"));
  }
}

TEST_F(RankGroupTest, RanksThatIgnoreTermAreKilled) {
  EXPECT_THAT(loss_of(ranks(2, "trap '' TERM; while :; do sleep 100; done"), kShort),
              HasSubstr("wrote nothing to standard error"));
}

TEST_F(RankGroupTest, ARankThatEndsBetweenTurnsIsFound) {
  RankGroup group(ranks(2, "echo up >&$LINES_FD; [ $RANK = 1 ] && exit 5; sleep 100"));
  group.gather(kLong, "its greeting");
  EXPECT_THROW(group.gather(kLong, "an answer"), RankLost);
}

TEST_F(RankGroupTest, ARankWhoseChildHoldsTheChannelIsFoundAllTheSame) {
  EXPECT_THAT(loss_of(ranks(1, "sleep 100 & exit 6"), kLong), HasSubstr("exit code 6"));
}

TEST_F(RankGroupTest, ARankThatFailsAtItsEndIsNamed) {
  EXPECT_THAT(loss_of(ranks(2, "echo up >&$LINES_FD; read end <&$LINES_FD; exit $RANK"), kLong),
              HasSubstr("rank 1 of 2 ended with exit code 1"));
  EXPECT_THAT(loss_of(ranks(2, "echo up >&$LINES_FD; [ $RANK = 1 ] && sleep 100; exit 0"), kShort),
              HasSubstr("rank 1 of 2 did not end within 0.3 s"));
}

TEST_F(RankGroupTest, MuchOutputBlocksNobody) {
  RankGroup group(ranks(2,
                        "head -c 3000000 /dev/zero | tr '\\0' x >&2; echo up >&$LINES_FD; read end "
                        "<&$LINES_FD; head -c 3000000 /dev/zero | tr '\\0' x"));
  EXPECT_TRUE(group.gather(kLong, "its greeting"));
  group.finish(kLong);
}

TEST_F(RankGroupTest, GivesUpWhenAskedToAndKeepsWhatCame) {
  RankGroup group(ranks(2, "[ $RANK = 1 ] && sleep 0.4; echo up >&$LINES_FD; sleep 100"));
  int asked = 0;
  EXPECT_FALSE(group.gather(kLong, "its greeting", [&] { return ++asked > 1; }));
  EXPECT_THAT(*group.gather(kLong, "its greeting"), ElementsAre("up", "up"));
}

TEST_F(RankGroupTest, AProgramThatIsNotThereIsAnError) {
  RankCommand command = ranks(2, "");
  command.arguments = {"/no/such/program"};
  EXPECT_THROW(RankGroup group(command), Error);
}

TEST_F(RankGroupTest, APortInUseIsNotTaken) {
  const Descriptor taken(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(taken.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(taken.get(), 1), 0);
  ASSERT_EQ(::getsockname(taken.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  RankCommand command = ranks(1, "echo $MASTER_PORT >&$LINES_FD");
  command.port = ntohs(address.sin_port);
  RankGroup group(command);
  EXPECT_NE(group.port(), command.port);
  EXPECT_NE(group.port(), 0);
  EXPECT_THAT(*group.gather(kLong, "its greeting"), ElementsAre(std::to_string(group.port())));
}

TEST(ReservedPort, OnlyWhoSaysSoMayListenThere) {
  const ReservedPort port;
  const ReservedPort other(port.number());
  EXPECT_NE(other.number(), port.number()) << "it is held";
  const Descriptor server(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  constexpr int kYes = 1;
  ::setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &kYes, sizeof kYes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port.number());
  EXPECT_EQ(::bind(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  EXPECT_EQ(::listen(server.get(), 1), 0);
}

}  // namespace
}  // namespace headroom
