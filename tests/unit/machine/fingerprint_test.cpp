// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/fingerprint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <functional>
#include <set>
#include <thread>

#include "headroom/process/affinity.h"

namespace headroom {
namespace {

MachineFacts facts() {
  MachineFacts facts;
  facts.microarchitecture = "emerald-rapids";
  facts.cpu_model = "Intel(R) Xeon(R) Processor";
  facts.stepping = 2;
  facts.isa = {"avx2", "avx512f"};
  facts.cores = 2;
  facts.processing_units = 4;
  facts.cache_bytes = {49152, 2097152, 314572800};
  facts.last_level_cache_bytes = 314572800;
  facts.memory_bytes = std::int64_t{24} << 30;
  facts.host = "node7";
  return facts;
}

TEST(Fingerprint, HasAReadablePrefixAndNeverChanges) {
  EXPECT_EQ(fingerprint_of(facts()), "emerald-rapids-2c-94fe8007") << "stored results are found by it";
}

TEST(Fingerprint, EveryFactCounts) {
  const std::vector<std::function<void(MachineFacts&)>> changes = {
      [](MachineFacts&) {},
      [](MachineFacts& f) { f.microarchitecture = "zen4"; },
      [](MachineFacts& f) { f.cpu_model += "X"; },
      [](MachineFacts& f) { f.stepping = 3; },
      [](MachineFacts& f) { f.isa.push_back("amx_bf16"); },
      [](MachineFacts& f) { f.cores = 4; },
      [](MachineFacts& f) { f.processing_units = 2; },
      [](MachineFacts& f) { f.cache_bytes[1] *= 2; },
      [](MachineFacts& f) { f.last_level_cache_bytes *= 2; },
      [](MachineFacts& f) { f.memory_bytes *= 2; },
      [](MachineFacts& f) { f.gpus = {"10de:2335"}; },
      [](MachineFacts& f) {
        f.gpus = {"10de:2335", "10de:2335"};
      },
      [](MachineFacts& f) { f.host = "node8"; },
  };
  std::set<std::string> seen;
  for (const auto& change : changes) {
    MachineFacts changed = facts();
    change(changed);
    seen.insert(fingerprint_of(changed));
  }
  EXPECT_EQ(seen.size(), changes.size());
}

TEST(Fingerprint, MegabytesOfMemoryDoNotCount) {
  MachineFacts less = facts();
  less.memory_bytes -= std::int64_t{100} << 20;
  EXPECT_EQ(fingerprint_of(less), fingerprint_of(facts()));
}

TEST(Fingerprint, OfThisMachineStaysAndDoesNotDependOnTheAffinity) {
  const std::string name = machine_fingerprint();
  EXPECT_THAT(name, testing::MatchesRegex("[a-z0-9-]+-[0-9]+c-[0-9a-f]+"));
  std::thread([&] {
    pin_this_thread(allowed_cpus().front());
    EXPECT_EQ(machine_fingerprint(), name);
  }).join();
}

TEST(Fingerprint, FleetsOfEqualMachinesMayShareAName) {
  const std::string own = machine_fingerprint();
  ::setenv("HEADROOM_MACHINE", "fleet", 1);
  EXPECT_EQ(read_machine_facts().host, "fleet");
  EXPECT_NE(machine_fingerprint(), own);
  ::setenv("HEADROOM_MACHINE", "", 1);
  EXPECT_EQ(machine_fingerprint(), own);
  ::unsetenv("HEADROOM_MACHINE");
}

TEST(ReadEnvironment, FillsTheFieldsOfARun) {
  const std::vector<std::string> command = {"headroom", "run", "gemv"};
  const Environment environment = read_environment(command);
  EXPECT_EQ(environment.command, command);
  EXPECT_EQ(environment.fingerprint, machine_fingerprint());
  EXPECT_FALSE(environment.headroom_version.empty());
  EXPECT_NEAR(static_cast<double>(environment.timestamp), static_cast<double>(std::time(nullptr)), 5);
  ASSERT_EQ(environment.machines.size(), 1U);
  const Environment::Runner& machine = environment.machines[0];
  EXPECT_EQ(machine.name, "cpu");
  EXPECT_FALSE(machine.type.empty());
  EXPECT_FALSE(machine.cpu_info.empty());
  EXPECT_GE(machine.cpu_count, allowed_cpus().size());
  EXPECT_THAT(machine.mem_info, testing::HasSubstr("iB"));
  EXPECT_EQ(machine.extra_info.count("hostname"), 1U);
  EXPECT_EQ(machine.extra_info.count("kernel"), 1U);
}

}  // namespace
}  // namespace headroom
