// SPDX-License-Identifier: Apache-2.0
#include "headroom/machine/noise.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "headroom/process/affinity.h"

namespace headroom {
namespace {

TEST(Noise, StealIsTheEighthField) {
  EXPECT_EQ(steal_ticks("cpu  11567 0 1756 216061 1665 0 59 12 0 0\ncpu0 1 2 3\n"), 12U);
  EXPECT_EQ(steal_ticks("cpu  1 2 3 4 5 6 7 18446744073709551615 9 10\n"), 18446744073709551615U);
  EXPECT_EQ(steal_ticks("cpu  1 2 3 4 5 6 7 8"), 8U) << "cut after the field";
}

TEST(Noise, OtherTextsHaveNoSteal) {
  EXPECT_EQ(steal_ticks("cpu  1 2 3 4\ncpu0 5 6 7 8 9\n"), std::nullopt)
      << "a kernel before steal was counted";
  EXPECT_EQ(steal_ticks("cpu0 1 2 3 4 5 6 7 8\n"), std::nullopt);
  EXPECT_EQ(steal_ticks("cpu  1 2 x 4 5 6 7 8\n"), std::nullopt);
  EXPECT_EQ(steal_ticks(""), std::nullopt);
}

TEST(Noise, PageFaultsOfEveryThreadAreCounted) {
  constexpr std::size_t kPages = 200;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* mapped = ::mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::madvise(mapped, kPages * page, MADV_NOHUGEPAGE);
  NoiseMeter meter;
  meter.start();
  std::thread([&] {
    for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(mapped)[i * page] = 1;
  }).join();
  const SampleNoise busy = meter.stop();
  EXPECT_GE(busy.page_faults, kPages);
  meter.start();
  const SampleNoise quiet = meter.stop();
  EXPECT_LT(quiet.page_faults, kPages / 2);
  EXPECT_GE(quiet.steal_ms, 0);
  EXPECT_GE(quiet.frequency_mhz, 0);
  ::munmap(mapped, kPages * page);
}

TEST(Noise, ThreadsThatShareACpuPreemptEachOther) {
  NoiseMeter meter;
  meter.start();
  const int cpu = allowed_cpus().front();
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(120);
  const auto spin = [&] {
    pin_this_thread(cpu);
    while (std::chrono::steady_clock::now() < end) {
    }
  };
  std::thread first(spin), second(spin);
  first.join();
  second.join();
  EXPECT_GE(meter.stop().involuntary_switches, 2U);
}

TEST(Noise, AMeterOpensItsFilesOnceAndClosesThem) {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  const auto before = open_files();
  {
    NoiseMeter meter;
    const auto with_meter = open_files();
    EXPECT_GT(with_meter, before);
    for (int i = 0; i < 10; ++i) meter.stop();
    EXPECT_EQ(open_files(), with_meter);
  }
  EXPECT_EQ(open_files(), before);
}

TEST(Noise, TheGovernorIsOneWordOrNothing) {
  EXPECT_EQ(cpu_governor().find_first_of(" \n"), std::string::npos);
  const bool offered = std::filesystem::exists(
      "/sys/devices/system/cpu/cpu" + std::to_string(allowed_cpus().front()) + "/cpufreq/scaling_governor");
  EXPECT_EQ(cpu_governor().empty(), !offered);
}

}  // namespace
}  // namespace headroom
