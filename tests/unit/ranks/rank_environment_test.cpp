// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/rank_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

using Variables = std::map<std::string, std::string>;

std::optional<RankPlace> place_in(const Variables& variables) {
  return rank_place([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string error_in(const Variables& variables) {
  try {
    place_in(variables);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
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
  EXPECT_FALSE(place->on_one_machine());
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
  EXPECT_TRUE(slurm->on_one_machine());
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
  EXPECT_THAT(error_in({{"RANK", "2"}, {"WORLD_SIZE", "2"}}), HasSubstr("RANK=2 is no rank of WORLD_SIZE=2"));
  EXPECT_THAT(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"LOCAL_RANK", "2"}}), HasSubstr("LOCAL_RANK"));
  EXPECT_THAT(error_in({{"RANK", "0"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "70000"}}),
              HasSubstr("MASTER_PORT='70000' is not an integer from 1 to 65535"));
}

TEST(RankVariables, SayWhatRankPlaceReads) {
  RankPlace place;
  place.rank = place.local_rank = 1;
  place.size = 2;
  place.local_size = 2;
  place.meeting = Meeting{"127.0.0.1", 1234};
  const auto variables = rank_variables(place);
  EXPECT_THAT(variables, ElementsAre(Pair("RANK", "1"), Pair("WORLD_SIZE", "2"), Pair("LOCAL_RANK", "1"),
                                     Pair("LOCAL_WORLD_SIZE", "2"), Pair("MASTER_ADDR", "127.0.0.1"),
                                     Pair("MASTER_PORT", "1234")));
  const auto read = place_in(Variables(variables.begin(), variables.end()));
  EXPECT_EQ(read->rank, 1);
  EXPECT_TRUE(read->on_one_machine());
}

}  // namespace
}  // namespace headroom
