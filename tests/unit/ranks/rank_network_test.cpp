// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <thread>

#include "../error_message.h"
#include "headroom/ranks/collective_ring.h"
#include "headroom/ranks/rank_environment.h"
#include "headroom/ranks/rank_exchange.h"
#include "headroom/ranks/rank_relay.h"
#include "headroom/ranks/rank_rendezvous.h"
#include "rank_scripts.h"

namespace headroom {
namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using namespace testing;
using test::loopback;
using test::loss_in;
using test::ranks;

constexpr milliseconds kRelayLong(20000);
constexpr milliseconds kRelayShort(400);
constexpr milliseconds kRelayWhile(2000);

RankCommand command_of(const std::string& script) {
  return ranks(1, script);
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

/// Returns the follower's exception, or "fine".
std::future<std::string> follower(const RankPlace& place, const std::string& script) {
  return std::async(std::launch::async, [place, script] {
    std::string ended = "gave up";
    const std::string message = test::message_of([&] {
      if (follow_leader(place, command_of(script), kRelayLong)) ended = "fine";
    });
    return message == "nothing was thrown" ? ended : message;
  });
}

using RankRelay = test::LeavesNoProcess;

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
  first.meeting = second.meeting = Rendezvous{"127.0.0.1", free.number()};
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
      EXPECT_THAT(lost.what(), HasSubstr("rank 1 of 2 ended with exit code 3; its last output: no disk"));
    }
  }
  EXPECT_THAT(other.get(), HasSubstr("exit code 3"));
}

TEST_F(RankRelay, RanksThatDoNotComeAreNamed) {
  auto other = follower(place_of(1, 4), kEcho);
  EXPECT_THAT(loss_in([&] { lead_ranks(place_of(0, 4), command_of(kEcho), kRelayShort); }),
              HasSubstr("ranks 2, 3 of 4 did not connect within 0.4 s"));
  EXPECT_THAT(other.get(), HasSubstr("rank 0 ended before all 4 ranks had connected"));
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

std::uint16_t free_port() {
  return ReservedPort().number();
}

Channel stranger_at(std::uint16_t port, const std::string& says) {
  const sockaddr_in address = loopback(port);
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

RankPlace place_over_tcp(int rank, const Rendezvous& meeting) {
  RankPlace place = place_of(rank, 2);
  place.local_size.reset();
  place.meeting = meeting;
  return place;
}

const std::string kNonce = "{\"nonce\":\"0123456789abcdef0123456789abcdef\"}\n";

TEST_F(RankRelay, StrangersEndNothing) {
  const std::string kSayings[] = {"{\"rank\":1,\"size\":99}\n",
                                  "{\"rank\":1e300,\"size\":2}\n",
                                  "{\"rank\":-1,\"size\":2}\n",
                                  "{\"rank\":0,\"size\":2}\n",
                                  std::string("\0\xff\n", 3),
                                  std::string(100'000, '['),
                                  "{\"rank\":1,\"size\":2}\n",
                                  "{\"rank\":1,\"size\":2,\"token\":\"guess\"}\n",
                                  kNonce + "{\"rank\":1,\"size\":2,\"proof\":\"guess\"}\n",
                                  kNonce + "{\"rank\":1,\"size\":99,\"proof\":\"\"}\n",
                                  kNonce + "{\"rank\":1e300,\"size\":2,\"proof\":\"\"}\n",
                                  kNonce + kNonce,
                                  "{\"nonce\":\"short\"}\n",
                                  ""};
  const std::uint16_t number = free_port();
  const Rendezvous meeting{"127.0.0.1", number};
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
  RankPlace stranger = place_over_tcp(1, {"127.0.0.1", number});
  stranger.size = 99;
  auto other = follower(stranger, kEcho);
  try {
    lead_ranks(place_over_tcp(0, {"127.0.0.1", number}), command_of(kEcho), kRelayWhile);
    FAIL();
  } catch (const RankLost& lost) {
    EXPECT_THAT(lost.what(), HasSubstr("rank 1 of 2 did not connect within 2 s; 1 connection was refused"));
  }
  EXPECT_THAT(other.get(), HasSubstr("rank 0 ended before all 99 ranks had connected"));
}

TEST_F(RankRelay, ARankOfAnOlderVersionIsNamedAsThat) {
  const std::uint16_t number = free_port();
  auto older = std::async(std::launch::async, [&] {
    const Channel held = stranger_at(number, "{\"rank\":1,\"size\":2}\n");
    std::this_thread::sleep_for(kRelayWhile);
  });
  EXPECT_THAT(loss_in([&] {
                lead_ranks(place_over_tcp(0, {"127.0.0.1", number}), command_of(kEcho), kRelayWhile);
              }),
              HasSubstr("older headroom: start all ranks with one version"));
}

/// Messages of the leader or an earlier rank do not prove the token.
TEST_F(RankRelay, AProofThatIsRepeatedIsRefused) {
  const std::uint16_t number = free_port();
  RankPlace first = place_over_tcp(0, {"127.0.0.1", number});
  first.token = "secret";
  auto stranger = std::async(std::launch::async, [&] {
    Channel there = stranger_at(number, kNonce);
    std::string greeting, proof;
    there.read_line(greeting, kRelayLong);
    there.read_line(proof, kRelayLong);
    EXPECT_THAT(proof, HasSubstr("proof"));
    proof.pop_back();
    there.write_line(proof + ",\"rank\":1,\"size\":2}", kRelayLong);
    return there.read_line(greeting, kRelayLong);
  });
  const auto is_refused = [&] { return stranger.wait_for(0s) == std::future_status::ready; };
  EXPECT_FALSE(lead_ranks(first, command_of(kEcho), kRelayLong, is_refused));
  EXPECT_EQ(stranger.get(), Channel::Status::kClosed);
}

TEST_F(RankRelay, RanksOfOtherTokensDoNotMeet) {
  const Rendezvous meeting{"127.0.0.1", free_port()};
  RankPlace first = place_over_tcp(0, meeting), second = place_over_tcp(1, meeting), third = second;
  first.token = "secret";
  second.token = "guess";
  auto guesses = follower(second, kEcho), has_none = follower(third, kEcho);
  const auto are_refused = [&] {
    return guesses.wait_for(0s) == std::future_status::ready &&
           has_none.wait_for(0s) == std::future_status::ready;
  };
  EXPECT_FALSE(lead_ranks(first, command_of(kEcho), kRelayLong, are_refused));
  EXPECT_THAT(guesses.get(), HasSubstr("does not prove that it has this rank's HEADROOM_RANK_TOKEN"));
  EXPECT_THAT(has_none.get(), HasSubstr("has a HEADROOM_RANK_TOKEN, this rank has none"));
}

/// Stands in for rank 0: sends `says` to the first rank and records its answers.
class Impostor {
 public:
  explicit Impostor(std::vector<std::string> says, bool closes = false) {
    const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback();
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(fd, 8), 0);
    EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    heard_ = std::async(std::launch::async, [fd, says = std::move(says), closes] {
      const Descriptor listener(fd);
      std::string heard, line;
      while (true) {
        const int connection = ::accept4(fd, nullptr, nullptr, SOCK_CLOEXEC);
        if (connection < 0) return heard;  // the listener was shut down
        Channel rank(connection);
        for (const std::string& words : says) rank.write_line(words);
        while (!closes && rank.read_line(line, kRelayLong) == Channel::Status::kLine) heard += line + "\n";
      }
    });
    listener_ = fd;
  }
  std::string heard() {
    ::shutdown(listener_, SHUT_RDWR);
    return heard_.get();
  }
  Rendezvous meeting() const { return {"127.0.0.1", port_}; }

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::future<std::string> heard_;
};

/// The rank's exception, and the impostor's record.
std::pair<std::string, std::string> meet(Impostor& impostor) {
  RankPlace place = place_over_tcp(1, impostor.meeting());
  place.token = "secret";
  try {
    follow_leader(place, command_of("echo started >&2"), milliseconds(1000));
    return {"it followed", impostor.heard()};
  } catch (const RankLost& lost) {
    return {std::string("it was lost: ") + lost.what(), impostor.heard()};
  } catch (const Error& error) {
    return {error.what(), impostor.heard()};
  }
}

TEST_F(RankRelay, ListenersThatDoNotSpeakAsRank0AreToldApart) {
  const std::pair<std::string, std::string> kFaults[] = {
      {"HTTP/1.1 400 Bad Request", "does not answer like rank 0"},
      {std::string(100'000, '['), "does not answer like rank 0"},
      {R"({"address":"127.0.0.1","port":1})", "does not answer like rank 0"},  // from an older version
      {R"({"greeting":1e300,"nonce":"0123456789abcdef0123456789abcdef"})", "does not answer like rank 0"},
      {R"({"greeting":3,"nonce":"0123456789abcdef0123456789abcdef"})", "does not answer like rank 0"},
      {R"({"greeting":2,"nonce":""})", "does not answer like rank 0"}};
  for (const auto& [says, fault] : kFaults) {
    Impostor impostor({says});
    const auto [message, heard] = meet(impostor);
    EXPECT_THAT(message, HasSubstr("127.0.0.1:" + std::to_string(impostor.meeting().port) +
                                   ": the listener " + fault));
    EXPECT_THAT(message, HasSubstr("choose another MASTER_PORT"));
    EXPECT_EQ(heard, "") << says;
  }
  Impostor silent({}), closing({}, true);
  EXPECT_THAT(meet(silent).first, HasSubstr("sends nothing"));
  EXPECT_THAT(meet(closing).first, HasSubstr("closes the connection"));
}

TEST_F(RankRelay, WhoDoesNotProveTheTokenHearsARandomNumberOnly) {
  const std::string greeting = R"({"greeting":2,"nonce":"0123456789abcdef0123456789abcdef"})";
  for (const std::string& proof :
       {std::string(R"({"proof":""})"), R"({"proof":")" + std::string(64, '0') + R"("})"}) {
    Impostor impostor({greeting, proof});
    const auto [message, heard] = meet(impostor);
    EXPECT_THAT(message, HasSubstr("does not prove that it has this rank's HEADROOM_RANK_TOKEN"));
    EXPECT_THAT(heard, MatchesRegex("\\{\"nonce\":\"[0-9a-f]+\"\\}\n")) << heard;
  }
}

void wait_for_file(const std::filesystem::path& file) {
  for (const Deadline end(kRelayLong); !std::filesystem::exists(file) && !end.over();)
    std::this_thread::sleep_for(milliseconds(5));
  EXPECT_TRUE(std::filesystem::exists(file));
}

template <typename Body>
pid_t process_of(Body body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  try {
    body();
  } catch (...) {
  }
  ::_exit(1);
}

TEST_F(RankRelay, TheSocketOfAKilledLeaderIsReplacedAndRemovedAtTheEnd) {
  const RankPlace first = place_of(0, 2);
  const std::filesystem::path socket = rendezvous_sockets(first).front();
  const pid_t child = process_of([&] { lead_ranks(first, command_of(kEcho), kRelayLong); });
  wait_for_file(socket);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(std::filesystem::exists(socket));
  auto other = follower(place_of(1, 2), kEcho);
  lead_ranks(first, command_of(kEcho), kRelayLong)->finish(kRelayLong);
  EXPECT_EQ(other.get(), "fine");
  EXPECT_FALSE(std::filesystem::exists(socket));
}

TEST_F(RankRelay, TheSocketOfALeaderThatRunsIsNotTaken) {
  const RankPlace first = place_of(0, 2);
  auto leader =
      std::async(std::launch::async, [&] { return lead_ranks(first, command_of(kEcho), kRelayLong); });
  const std::filesystem::path socket = rendezvous_sockets(first).front();
  wait_for_file(socket);
  for (int i = 0; i < 3; ++i) {
    try {
      lead_ranks(first, command_of(kEcho), kRelayShort);
      FAIL();
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("Address already in use; end the other job"));
    }
    EXPECT_TRUE(std::filesystem::exists(socket));
  }
  auto other = follower(place_of(1, 2), kEcho);
  leader.get()->finish(kRelayLong);
  EXPECT_EQ(other.get(), "fine");
}

TEST_F(RankRelay, AFollowerWhoseLeaderIsKilledSaysSo) {
  const RankPlace first = place_of(0, 2), second = place_of(1, 2);
  const pid_t child = process_of([&] {
    auto group = lead_ranks(first, command_of(kEcho), kRelayLong);
    group->send("a");
    group->gather(kRelayLong, "an answer");
    ::kill(::getpid(), SIGKILL);
  });
  EXPECT_THAT(follower(second, kEcho).get(), HasSubstr("rank 0 ended during the job"));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

TEST_F(RankRelay, OnOneMachineNobodyListensToTheNetwork) {
  RankPlace first = place_of(0, 2), second = place_of(1, 2);
  const std::uint16_t number = free_port();
  first.meeting = second.meeting = Rendezvous{"0.0.0.0", number};
  auto group =
      std::async(std::launch::async, [&] { return lead_ranks(first, command_of(kEcho), kRelayLong); });
  std::this_thread::sleep_for(milliseconds(200));
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(number);
  EXPECT_NE(::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  ::close(fd);
  auto other = follower(second, kEcho);
  group.get()->finish(kRelayLong);
  EXPECT_EQ(other.get(), "fine");
}

TEST_F(RankRelay, SeveralMachinesNeedAMeeting) {
  RankPlace place = place_of(0, 2);
  place.local_size = 1;
  EXPECT_THAT(test::message_of([&] { lead_ranks(place, command_of(kEcho), kRelayShort); }),
              HasSubstr("set MASTER_ADDR and MASTER_PORT"));
}

TEST_F(RankRelay, OneRankNeedsNobody) {
  RankPlace place = place_of(0, 1);
  place.local_size.reset();
  auto group = lead_ranks(place, command_of("echo alone >&$LINES_FD"), kRelayShort);
  EXPECT_THAT(*group->gather(kRelayLong, "its greeting"), ElementsAre("alone"));
}

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

TEST(RouteAddress, ToThisMachineItIsThatOfTheLoop) {
  EXPECT_EQ(local_address_to({"127.0.0.1", 29500}), "127.0.0.1");
  EXPECT_EQ(local_address_to({"127.0.0.7", 29500}), "127.0.0.1");
}

TEST(RouteAddress, WithoutAWayThereIsNone) {
  EXPECT_EQ(local_address_to({"no such host", 29500}), "");
  EXPECT_EQ(local_address_to({"", 0}).find("no"), std::string::npos);
}

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
