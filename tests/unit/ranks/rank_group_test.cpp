// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <sys/socket.h>

#include <csignal>
#include <thread>

#include "../error_message.h"
#include "../file_tree.h"
#include "headroom/process/affinity.h"
#include "headroom/ranks/rank_environment.h"
#include "rank_scripts.h"

namespace headroom {
namespace {

using std::chrono::milliseconds;
using namespace testing;
using test::loopback;
using test::loss_in;
using test::ranks;

using Clock = std::chrono::steady_clock;

constexpr milliseconds kLong(20000);
constexpr milliseconds kShort(300);

std::string loss_of(const RankCommand& command, milliseconds timeout) {
  RankGroup group(command);
  return loss_in([&] {
    group.gather(timeout, "its greeting");
    group.finish(timeout);
  });
}

using RankGroupTest = test::LeavesNoProcess;

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
  EXPECT_THAT(loss, HasSubstr("rank 1 of 3 ended with exit code 3; its last output: no disk; the others"));
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
              HasSubstr("rank 1 of 2 ended with exit code 4; its last output: down 1; then rank 0 of 2"));
  EXPECT_THAT(loss, Not(HasSubstr("others")));
}

TEST_F(RankGroupTest, RanksThatHangAreNamedWithinTheTimeOut) {
  const auto begin = Clock::now();
  const std::string loss = loss_of(
      ranks(4, "[ $RANK != 1 ] && [ $RANK != 3 ] && echo up >&$LINES_FD; echo waiting >&2; sleep 100"),
      kShort);
  EXPECT_THAT(loss,
              HasSubstr("ranks 1, 3 of 4 did not report its greeting within 0.3 s; rank 1: its last output: "
                        "waiting; rank 3: its last output: waiting; all ranks were ended"));
  EXPECT_LT(Clock::now() - begin, milliseconds(5000));
}

TEST_F(RankGroupTest, ARankThatIsStoppedIsSaidToBe) {
  const std::string loss =
      loss_of(ranks(2, "[ $RANK = 1 ] && kill -STOP $$; echo up >&$LINES_FD; sleep 100"), kShort);
  EXPECT_THAT(loss,
              AllOf(HasSubstr("rank 1 of 2 did not report"), HasSubstr("rank 1 is stopped by a signal")));
}

/// Misses the last of `calls` collectives.
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
  EXPECT_THAT(loss_in([&] { group.gather(kShort, "an answer"); }),
              AllOf(HasSubstr("in all_reduce 1 of 'world' (64 f32); rank 1 did not arrive: its last was "
                              "all_reduce 0, completed"),
                    HasSubstr("last collectives of each rank:\nrank  group")));
}

TEST_F(RankGroupTest, TheCollectiveOfARankThatIsGoneIsNamed) {
  std::vector<Channel> other_ends;
  std::vector<RankMember> members;
  members.push_back(silent_rank(other_ends, 2));
  other_ends.clear();
  RankGroup group(std::move(members), ReservedPort());
  EXPECT_THAT(loss_in([&] { group.gather(kShort, "an answer"); }),
              HasSubstr("it was in all_reduce 1 of 'world'"));
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
  sockaddr_in address = loopback();
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

TEST(RankHello, SurvivesTheWayThroughJson) {
  const RankHello hello{3, 4, 99, {"libtorch", "2.1"}, "why not", "--seed 1", "a", {3, 5}};
  const RankHello said = rank_hello_from_json(parse_json(dump_json(to_json(hello)), "a hello"));
  EXPECT_EQ(said.rank, 3);
  EXPECT_EQ(said.library, hello.library);
  EXPECT_EQ(said.arguments, "--seed 1");
  EXPECT_EQ(said.host, "a");
  EXPECT_EQ(said.cores, hello.cores);
}

TEST(RankHello, ALibraryIsOfOneNameWhateverBlanksItHas) {
  RankHello hello;
  hello.library = {"Intel MPI", "2021.9 beta 1"};
  Json json = to_json(hello);
  EXPECT_EQ(rank_hello_from_json(json).library, hello.library);
  json["library"] = "libtorch 1.13.1";  // an older build
  EXPECT_EQ(rank_hello_from_json(json).library, (RankLibrary{"libtorch", "1.13.1"}));
  json["library"] = {{"name", "libtorch"}};
  EXPECT_THAT(test::message_of([&] { rank_hello_from_json(json); }), HasSubstr("/library/version"));
}

TEST(RankHello, NonsenseIsAnErrorThatNamesIt) {
  EXPECT_THROW(rank_hello_from_json(Json::object()), Error);
}

using Variables = std::map<std::string, std::string>;

std::optional<RankPlace> place_in(const Variables& variables) {
  return rank_place([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string error_in(const Variables& variables) {
  return test::message_of([&] { place_in(variables); });
}

TEST(RankPlace, IsNothingWithoutALauncher) {
  EXPECT_FALSE(place_in({}));
  EXPECT_FALSE(place_in({{"MASTER_ADDR", "host"}, {"LOCAL_RANK", "3"}}));
  EXPECT_FALSE(place_in({{"SLURM_NTASKS", "4"}})) << "the shell of an allocation is no rank";
}

TEST(RankPlace, IsWhatTorchrunSays) {
  const auto place = place_in({{"RANK", "5"},
                               {"WORLD_SIZE", "8"},
                               {"LOCAL_RANK", "1"},
                               {"LOCAL_WORLD_SIZE", "4"},
                               {"MASTER_ADDR", "node0"},
                               {"MASTER_PORT", "29500"},
                               {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  ASSERT_TRUE(place);
  EXPECT_EQ(place->rank, 5);
  EXPECT_EQ(place->size, 8);
  EXPECT_EQ(place->local_rank, 1);
  EXPECT_EQ(place->local_size, 4);
  EXPECT_FALSE(place->is_single_machine());
  EXPECT_EQ(place->launcher, "torchrun");
  EXPECT_TRUE(place->launcher_listens);
  ASSERT_TRUE(place->meeting);
  EXPECT_EQ(place->meeting->address, "node0");
  EXPECT_EQ(place->meeting->port, 29500);
}

TEST(RankPlace, IsWhatMpirunSrunAndHydraSay) {
  const auto open_mpi = place_in({{"OMPI_COMM_WORLD_RANK", "3"},
                                  {"OMPI_COMM_WORLD_SIZE", "4"},
                                  {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                                  {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}});
  EXPECT_EQ(open_mpi->rank, 3);
  EXPECT_EQ(open_mpi->local_rank, 1);
  EXPECT_FALSE(open_mpi->meeting);
  const auto hydra = place_in({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "0"}});
  EXPECT_EQ(hydra->launcher, "PMI");
  const auto slurm =
      place_in({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "2"}, {"SLURM_LOCALID", "1"}, {"SLURM_NNODES", "1"}});
  EXPECT_EQ(slurm->launcher, "SLURM");
  EXPECT_TRUE(slurm->is_single_machine());
}

TEST(RankPlace, TheFirstCompleteSetCounts) {
  const Variables both{
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_EQ(place_in(both)->size, 2);
  const Variables half{{"RANK", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}};
  EXPECT_EQ(place_in(half)->launcher, "Open MPI");
}

TEST(RankPlace, RanksOfOneJobShareItsName) {
  const Variables first{
      {"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_NAMESPACE", "17"}};
  Variables second = first, other = first;
  second["OMPI_COMM_WORLD_RANK"] = "1";
  other["PMIX_NAMESPACE"] = "18";
  EXPECT_EQ(place_in(first)->job, place_in(second)->job);
  EXPECT_NE(place_in(first)->job, place_in(other)->job);
}

TEST(RankPlace, HalfASetIsAnError) {
  EXPECT_THAT(error_in({{"RANK", "1"}}), HasSubstr("has RANK but not WORLD_SIZE"));
  EXPECT_THAT(error_in({{"WORLD_SIZE", "2"}}), HasSubstr("has WORLD_SIZE but not RANK"));
  EXPECT_THAT(error_in({{"SLURM_PROCID", "1"}}), HasSubstr("SLURM_NTASKS"));
  EXPECT_THAT(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "1"}}),
              HasSubstr("MASTER_PORT is set but MASTER_ADDR is not"));
}

TEST(RankPlace, NonsenseIsAnError) {
  EXPECT_THAT(error_in({{"RANK", "x"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK='x' is not an integer"));
  EXPECT_THAT(error_in({{"RANK", "-1"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK='-1'"));
  EXPECT_THAT(error_in({{"RANK", "0"}, {"WORLD_SIZE", "0"}}), HasSubstr("WORLD_SIZE='0'"));
  EXPECT_THAT(error_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}}),
              HasSubstr("RANK=2 is not a rank of WORLD_SIZE=2"));
  EXPECT_THAT(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}), HasSubstr("LOCAL_RANK"));
  EXPECT_THAT(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
              HasSubstr("MASTER_PORT='70000' is not an integer from 1 to 65535"));
}

TEST(RankVariables, SayWhatRankPlaceReads) {
  RankPlace place;
  place.rank = place.local_rank = 1;
  place.size = 2;
  place.local_size = 2;
  place.meeting = Rendezvous{"127.0.0.1", 1234};
  const auto variables = rank_variables(place);
  EXPECT_THAT(variables, ElementsAre(Pair("RANK", "1"), Pair("WORLD_SIZE", "2"), Pair("LOCAL_RANK", "1"),
                                     Pair("LOCAL_WORLD_SIZE", "2"), Pair("MASTER_ADDR", "127.0.0.1"),
                                     Pair("MASTER_PORT", "1234")));
  const auto read = place_in(Variables(variables.begin(), variables.end()));
  EXPECT_EQ(read->rank, 1);
  EXPECT_TRUE(read->is_single_machine());
}

RankPlace place(int local_rank, int local_size) {
  RankPlace place;
  place.rank = place.local_rank = local_rank;
  place.size = local_size;
  place.local_size = local_size;
  return place;
}

/// Two threads each: n and n + 4.
class FourCores : public testing::Test {
 protected:
  FourCores() {
    for (int cpu = 0; cpu < 8; ++cpu) {
      tree_.file("cpu" + std::to_string(cpu) + "/topology/core_cpus_list",
                 std::to_string(cpu % 4) + "," + std::to_string(cpu % 4 + 4) + "\n");
    }
  }
  std::vector<int> cpus(int local_rank, int local_size, int threads = 1) const {
    return cpus_of_rank(place(local_rank, local_size), all_, threads, CpuFolder(tree_.root()));
  }

  FileTree tree_;
  const std::vector<int> all_{0, 4, 1, 5, 2, 6, 3, 7};  // deliberately not sorted by core
};

TEST_F(FourCores, RanksDoNotShareACoreWhileCoresLast) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    std::set<int> taken;
    for (int rank = 0; rank < ranks; ++rank) {
      const std::vector<int> mine = cpus(rank, ranks, 8);
      EXPECT_FALSE(mine.empty());
      for (const int core : cores_of(mine, CpuFolder(tree_.root()))) {
        EXPECT_TRUE(taken.insert(core).second) << "core " << core << " of " << ranks << " ranks";
      }
    }
    EXPECT_EQ(taken.size(), 4U) << "no core is left out";
  }
}

TEST_F(FourCores, ARankHasAsManyAsItHasThreads) {
  EXPECT_THAT(cpus(1, 2, 1), ElementsAre(2));
  EXPECT_THAT(cpus(1, 2, 2), ElementsAre(2, 3));
  EXPECT_THAT(cpus(1, 2, 3), ElementsAre(2, 3)) << "the rest is another rank's";
}

TEST_F(FourCores, RanksBeyondTheCoresTakeTurns) {
  std::vector<int> taken;
  for (int rank = 0; rank < 9; ++rank) taken.push_back(cpus(rank, 9).front());
  EXPECT_THAT(taken, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 0));
}

TEST_F(FourCores, WithoutTheNumberOfLocalRanksAllMayBeHere) {
  RankPlace somewhere = place(1, 2);
  somewhere.local_size.reset();
  EXPECT_THAT(cpus_of_rank(somewhere, all_, 1, CpuFolder(tree_.root())), ElementsAre(2));
}

TEST(RankCpus, WhatALauncherBoundARankToIsKept) {
  EXPECT_THAT(cpus_of_rank(place(3, 4), std::vector<int>{6}, 1), ElementsAre(6));
  EXPECT_THAT(cpus_of_rank(place(0, 1), std::vector<int>{}, 1), IsEmpty());
}

TEST(RankCpus, AThreadIsKeptToItsOwn) {
  const std::vector<int> allowed = allowed_cpus();
  if (allowed.size() < 2) GTEST_SKIP() << "one CPU";
  std::thread([&] {
    const std::vector<int> mine = pin_to_rank_cpus(place(1, 2), 1);
    EXPECT_EQ(allowed_cpus(), mine);
    EXPECT_EQ(mine.size(), 1U);
  }).join();
  EXPECT_EQ(allowed_cpus(), allowed);
}

RankHello rank(int number, const std::string& host, std::vector<int> cores) {
  RankHello hello;
  hello.rank = number;
  hello.host = host;
  hello.cores = std::move(cores);
  return hello;
}

TEST(CoreSharing, RanksWithACoreEachShareNone) {
  EXPECT_EQ(core_sharing({rank(0, "a", {0}), rank(1, "a", {1})}, 1, 64), "");
  EXPECT_EQ(core_sharing({rank(0, "a", {0}), rank(1, "b", {0})}, 1, 64), "") << "of two machines";
  EXPECT_EQ(core_sharing({rank(0, "", {}), rank(1, "", {})}, 1, 64), "")
      << "who does not say it is not suspected";
}

TEST(CoreSharing, ThoseThatDoAreNamed) {
  EXPECT_THAT(
      core_sharing({rank(0, "a", {0}), rank(1, "a", {1}), rank(2, "a", {0}), rank(3, "a", {1})}, 1, 64),
      StartsWith("ranks 0, 2 share core 0 and ranks 1, 3 share core 1: they take turns"));
}

TEST(CoreSharing, WhereTheyKeepToNoneTheCpusAreCounted) {
  const std::vector<RankHello> ranks{rank(0, "a", {}), rank(1, "a", {}), rank(2, "b", {})};
  EXPECT_THAT(core_sharing(ranks, 2, 3), StartsWith("2 ranks of 2 threads share 3 CPUs: they take turns"));
  EXPECT_EQ(core_sharing(ranks, 1, 2), "");
}

TEST(CoreSharing, OfSeveralMachinesTheNameIsSaid) {
  EXPECT_THAT(core_sharing({rank(0, "a", {0}), rank(1, "b", {0}), rank(2, "b", {0})}, 1, 64),
              StartsWith("ranks 1, 2 share core 0 of b: "));
}

}  // namespace
}  // namespace headroom
