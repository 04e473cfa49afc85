// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/cpu_load.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "file_tree.h"

namespace headroom {
namespace {

using testing::HasSubstr;

const std::vector<int> kTwo{0, 1};

/// /proc/stat of two CPUs, each with that many ticks of work, stolen and idle.
std::string stat_of(int work0, int work1, int stolen, int idle) {
  const auto line = [&](const std::string& name, int work) {
    return name + " " + std::to_string(work) + " 0 0 " + std::to_string(idle) + " 0 0 0 " +
           std::to_string(stolen) + " 0 0\n";
  };
  return line("cpu ", work0 + work1) + line("cpu0", work0) + line("cpu1", work1) + "intr 5\n";
}

std::string pressure_of(long total) {
  return "some avg10=99.00 avg60=5.00 avg300=0.61 total=" + std::to_string(total) +
         "\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
}

/// The load of a machine whose files change from one text to the other in a tenth of a second.
CpuLoad load_of(const std::string& before, const std::string& after, long waited_us = -1) {
  FileTree proc;
  proc.file("stat", before);
  if (waited_us >= 0) proc.file("pressure/cpu", pressure_of(1000));
  return measure_cpu_load(
      kTwo,
      [&] {
        proc.file("stat", after);
        if (waited_us >= 0) proc.file("pressure/cpu", pressure_of(1000 + waited_us));
        return 0.1;
      },
      proc.root());
}

TEST(CpuTicks, AreAddedOverTheCpusAskedFor) {
  const std::string text =
      "cpu  9 9 9 9 9 9 9 9\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu1 10 0 0 0 0 0 0 0\n"
      "cpu10 100 0 0 50 0 0 0 0\n";
  const std::vector<int> one{0}, both{0, 10}, unknown{2};
  EXPECT_EQ(cpu_ticks(text, one)->total, 36U);
  EXPECT_EQ(cpu_ticks(text, one)->idle, 9U) << "waiting for a disk leaves the CPU free";
  EXPECT_EQ(cpu_ticks(text, one)->stolen, 8U);
  EXPECT_EQ(cpu_ticks(text, both)->total, 186U);
  EXPECT_FALSE(cpu_ticks(text, unknown));
  EXPECT_FALSE(cpu_ticks("cpu  1 2\ncpu0 1 2 3\n", one));
  EXPECT_FALSE(cpu_ticks("", one));
}

TEST(Pressure, IsTheTotalOfTheFirstLine) {
  EXPECT_EQ(pressure_us(pressure_of(94559822)), 94559822U);
  EXPECT_FALSE(pressure_us("full avg10=0.00 total=7\n"));
  EXPECT_FALSE(pressure_us(""));
}

TEST(CpuLoad, IsWhatChangedBetweenTwoReadings) {
  const CpuLoad load = load_of(stat_of(1000, 5000, 0, 10000), stat_of(1010, 5005, 0, 10005), 40000);
  EXPECT_EQ(load.cpus, 2);
  EXPECT_NEAR(load.busy, 2 * 15.0 / 25, 1e-9);
  EXPECT_EQ(load.stolen, 0);
  EXPECT_NEAR(load.waited, 0.4, 1e-9);
}

TEST(CpuLoad, IsUnknownWhereTheKernelSaysNothing) {
  FileTree empty;
  const CpuLoad load = measure_cpu_load(
      kTwo, [] { return 0.1; }, empty.root());
  EXPECT_EQ(load.cpus, 0);
  EXPECT_FALSE(load_warning(load, 2));
  EXPECT_FALSE(load_warning(load_of(stat_of(5, 5, 0, 5), stat_of(5, 5, 0, 5)), 2)) << "no tick went by";
}

TEST(CpuLoad, OfThisMachineIsWithinItsCpus) {
  const std::vector<int> cpu{0};
  const CpuLoad load = measure_cpu_load(cpu, [] { return 0.0; });
  EXPECT_GE(load.busy, 0);
  EXPECT_LE(load.busy, 1);
}

TEST(LoadWarning, ComesWhereTheThreadsDoNotFitBesideTheOthers) {
  const CpuLoad full = load_of(stat_of(0, 0, 0, 0), stat_of(10, 10, 0, 0), 90000);
  const auto warning = load_warning(full, 2);
  ASSERT_TRUE(warning);
  EXPECT_EQ(warning->what,
            "busy: 2.0 of 2 CPUs were at work for other programs before measuring, and tasks waited "
            "for one 90 % of the time");
  EXPECT_THAT(warning->advice, testing::Not(HasSubstr("--threads"))) << "there is no room for one either";
  EXPECT_THAT(load_warning(full, 1, "while")->what, HasSubstr("for other programs while measuring"));

  const CpuLoad half = load_of(stat_of(0, 0, 0, 0), stat_of(10, 0, 0, 5));
  ASSERT_TRUE(load_warning(half, 2));
  EXPECT_THAT(load_warning(half, 2)->advice, HasSubstr("or measure with --threads 1"));
  EXPECT_FALSE(load_warning(half, 1));
  EXPECT_TRUE(load_warning(half, 64)) << "more threads than CPUs want them all";
}

TEST(LoadWarning, ComesWhereWhatIsMeasuredHasToShareTheLastCpu) {
  // Two programs beside a third on two CPUs: each gets two thirds of one.
  const CpuLoad shared{.cpus = 2, .busy = 1.33, .own = 0.67};
  ASSERT_TRUE(load_warning(shared, 1, "while"));
  EXPECT_FALSE(load_warning({.cpus = 2, .busy = 0.1, .own = 1.9}, 1, "while")) << "it takes them itself";
  EXPECT_FALSE(load_warning({.cpus = 4, .busy = 2, .own = 1}, 1, "while")) << "one is free";
}

TEST(LoadWarning, DoesNotComeForWhatAQuietMachineDoes) {
  EXPECT_FALSE(load_warning(load_of(stat_of(0, 0, 0, 0), stat_of(1, 1, 0, 9)), 2));
}

TEST(LoadWarning, NamesTheHypervisor) {
  const auto warning = load_warning(load_of(stat_of(0, 0, 0, 0), stat_of(0, 0, 5, 5)), 2);
  ASSERT_TRUE(warning);
  EXPECT_THAT(warning->what, HasSubstr("busy: 1.0 of 2 CPUs"));
  EXPECT_THAT(warning->what, HasSubstr("1.0 of them taken by the hypervisor"));
}

}  // namespace
}  // namespace headroom
