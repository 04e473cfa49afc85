// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/environment_differences.h"

#include <gmock/gmock.h>

#include "sample_records.h"

namespace headroom {
namespace {

using test::environment_of;
using test::record_of;
using ::testing::ElementsAre;

std::vector<Record> measured_in(std::shared_ptr<Environment> environment) {
  Record record = record_of("a", {1});
  record.axes = {{"D", "1"}};
  record.environment = std::move(environment);
  return {record};
}

std::vector<std::string> names(const EnvironmentDifferences& differences) {
  std::vector<std::string> all;
  for (const EnvironmentDifference& difference : differences.list) all.push_back(difference.what);
  return all;
}

TEST(EnvironmentDifferences, AreNoneOfTheSameTwice) {
  const auto records = measured_in(environment_of(1, "m"));
  const EnvironmentDifferences found = environment_differences(records, records);
  EXPECT_TRUE(found.list.empty());
  EXPECT_FALSE(found.different_machines);
}

TEST(EnvironmentDifferences, LeaveOutWhatBelongsToTheRun) {
  auto other = environment_of(2, "m");
  other->command = {"headroom", "run"};
  other->extra_info["seed"] = "8";
  EXPECT_TRUE(environment_differences(measured_in(environment_of(1, "m")), measured_in(other)).list.empty());
}

TEST(EnvironmentDifferences, SayTwoMachines) {
  const auto found =
      environment_differences(measured_in(environment_of(1, "m")), measured_in(environment_of(1, "n")));
  EXPECT_TRUE(found.different_machines);
  EXPECT_THAT(names(found), ElementsAre("machine"));
}

TEST(EnvironmentDifferences, SayWhereCasesLieInOtherPages) {
  auto before = measured_in(environment_of(1, "m")), after = measured_in(environment_of(2, "m"));
  before[0].model.extra_info["huge pages"] = "100 %";
  after[0].model.extra_info["huge pages"] = "0 %";
  const auto found = environment_differences(before, after);
  ASSERT_EQ(found.list.size(), 1U);
  EXPECT_EQ(found.list[0].what, "share in huge pages");
  EXPECT_EQ(found.list[0].baseline, "100 %");
  EXPECT_EQ(found.list[0].test, "0 %");
}

TEST(EnvironmentDifferences, ListWhatDiffersInOrder) {
  auto before = environment_of(1, "m"), after = environment_of(2, "m");
  before->governor = "performance";
  after->governor = "powersave";
  before->headroom_version = after->headroom_version = "0.1.0";
  before->dependencies["torch"].version = "2.4";
  after->dependencies["torch"].version = "2.5";
  before->git_sha = "aaa";
  after->extra_info["bucket_size"] = "25";
  auto test = measured_in(after);
  test.push_back(record_of("b", {1}));
  test.back().axes = {{"D", "2"}};
  const auto found = environment_differences(measured_in(before), test);
  EXPECT_THAT(names(found),
              ElementsAre("governor", "torch version", "git revision", "axis D", "bucket_size"));
  EXPECT_EQ(found.list[2].test, "-");
  EXPECT_EQ(found.list[3].test, "1, 2");
}

}  // namespace
}  // namespace headroom
