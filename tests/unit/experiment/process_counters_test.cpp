// SPDX-License-Identifier: Apache-2.0
#include "headroom/experiment/process_counters.h"

#include <gmock/gmock.h>
#include <linux/perf_event.h>
#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>

#include "../error_message.h"

namespace headroom {
namespace {

using namespace testing;
using Traffic = ControllerEvent::Traffic;

class FakeKernel final : public CounterKernel {
 public:
  struct Counter {
    CounterRequest request;
    bool runs = false;
    CounterReading reading;
  };

  std::function<int(const CounterRequest&)> error{};  ///< errno; 0: success
  std::function<bool(const CounterRequest&)> unreadable{};
  std::size_t largest_group = 8;
  std::vector<int> thread_numbers{11, 12};
  std::map<int, Counter> counters;
  std::uint64_t background = 0;  ///< counted by each re-enabled counter

  int open(const CounterRequest& request) override {
    if (const int refused = error ? error(request) : 0) return -refused;
    if (request.leader >= 0) {
      const auto members = std::ranges::count_if(
          counters, [&](const auto& one) { return one.second.request.leader == request.leader; });
      if (static_cast<std::size_t>(members) + 2 > largest_group) return -EINVAL;
    }
    counters[++next_] = {request, false, {}};
    return next_;
  }
  void start(int counter) override {
    set(counter, true);
    // Enabled again while nothing runs.
    CounterReading& reading = counters.at(counter).reading;
    if (reading.enabled_ns > 0)
      reading = {reading.count + background, 2 * reading.enabled_ns, 2 * reading.running_ns};
  }
  void stop(int counter) override { set(counter, false); }
  std::optional<CounterReading> read(int counter) override {
    const Counter& one = counters.at(counter);
    if (unreadable && unreadable(one.request)) return std::nullopt;
    return one.reading;
  }
  void close(int counter) override { counters.erase(counter); }
  std::vector<int> threads() override { return thread_numbers; }

  void happen(const std::function<CounterReading(const CounterRequest&)>& reading) {
    for (auto& [number, counter] : counters) {
      if (!counter.runs) continue;
      const CounterReading more = reading(counter.request);
      counter.reading.count += more.count;
      counter.reading.enabled_ns += more.enabled_ns;
      counter.reading.running_ns += more.running_ns;
    }
  }

 private:
  void set(int counter, bool runs) {
    for (auto& [number, one] : counters) {
      if (number == counter || one.request.leader == counter) one.runs = runs;
    }
  }
  int next_ = 2;
};

ControllerEvent controller(Traffic traffic, int cpu = 0) {
  return {"uncore_imc_" + std::to_string(cpu), 20, {4, 0, 0}, cpu, 64, traffic};
}

/// 100 of each event, then 10 in the second thread.
CounterReading plain(const CounterRequest& request) {
  const std::uint64_t times = request.thread == 11 ? 100 : 10;
  return {times * (1 + request.config[0]), 1000, 1000};
}

TEST(ProcessCounters, AddUpAllThreadsAndLeaveNothingOpen) {
  FakeKernel kernel;
  const ProcessCounters counters(kernel, work_events(), {});
  EXPECT_TRUE(counters.any());
  EXPECT_EQ(counters.text(),
            "instructions, cycles, cache misses; memory controllers: none is listed in "
            "/sys/bus/event_source/devices");
  kernel.happen(plain);
  const WorkCounts counts = counters.count([&] {
    EXPECT_EQ(kernel.counters.size(), 6U);
    kernel.happen(plain);
  });
  EXPECT_TRUE(kernel.counters.empty());
  EXPECT_EQ(counts.cycles, 110);
  EXPECT_EQ(counts.instructions, 220);
  EXPECT_EQ(counts.cache_misses, 440);
  EXPECT_FALSE(counts.memory_bytes);
  EXPECT_EQ(counts.share, 1);
}

TEST(ProcessCounters, OfAThreadAreAGroupWhereTheHardwareHasRoomForOne) {
  for (const auto& [room, groups] : {std::pair(8UL, 1), std::pair(2UL, 2), std::pair(1UL, 3)}) {
    FakeKernel kernel;
    kernel.largest_group = room;
    kernel.thread_numbers = {11};
    const ProcessCounters counters(kernel, work_events(), {});
    const WorkCounts counts = counters.count([&] {
      const auto leaders = std::ranges::count_if(
          kernel.counters, [](const auto& one) { return one.second.request.leader < 0; });
      EXPECT_EQ(leaders, groups) << room;
      kernel.happen(plain);
    });
    EXPECT_EQ(counts.cache_misses, 400) << room;
  }
}

TEST(ProcessCounters, ThatTakeTurnsAreScaledToTheWholeTime) {
  FakeKernel kernel;
  const ProcessCounters counters(kernel, work_events(), {});
  const WorkCounts counts = counters.count([&] {
    kernel.happen([](const CounterRequest& request) -> CounterReading {
      if (request.config[0] == PERF_COUNT_HW_CACHE_MISSES) return {7, 1000, 0};  // never scheduled
      if (request.config[0] == PERF_COUNT_HW_CPU_CYCLES) return {50, 1000, 250};
      if (request.thread == 12) return {};  // slept
      return {30, 900, 600};
    });
  });
  EXPECT_EQ(counts.cycles, 400);
  EXPECT_EQ(counts.instructions, 45);
  EXPECT_FALSE(counts.cache_misses);
  EXPECT_EQ(counts.share, 0.25);
}

TEST(ProcessCounters, OfWhichOneCannotBeReadAreNoSum) {
  FakeKernel kernel;
  const ProcessCounters counters(kernel, work_events(),
                                 {controller(Traffic::kRead), controller(Traffic::kWrite)});
  kernel.unreadable = [](const CounterRequest& request) {
    if (request.cpu >= 0) return request.config[0] == 4;
    return request.thread == 12 && request.config[0] == PERF_COUNT_HW_CPU_CYCLES;
  };
  const WorkCounts counts = counters.count([&] { kernel.happen(plain); });
  EXPECT_EQ(counts.instructions, 220);
  EXPECT_FALSE(counts.cycles);
  EXPECT_FALSE(counts.memory_bytes);
}

TEST(ProcessCounters, HoldWhatFills64Bits) {
  FakeKernel kernel;
  kernel.thread_numbers = {11, 12, 13, 14};
  const ProcessCounters counters(kernel, work_events(), {});
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  const WorkCounts counts = counters.count([&] {
    kernel.happen([](const CounterRequest&) -> CounterReading { return {kMost, kMost, kMost / 2}; });
  });
  ASSERT_TRUE(counts.cycles);
  EXPECT_NEAR(*counts.cycles / static_cast<double>(kMost), 8, 1e-9);
}

TEST(ProcessCounters, SayWhyThereAreNone) {
  const auto text = [](int error) {
    FakeKernel kernel;
    kernel.error = [error](const CounterRequest&) { return error; };
    const ProcessCounters counters(kernel, work_events(), {});
    EXPECT_FALSE(counters.any());
    EXPECT_TRUE(kernel.counters.empty());
    EXPECT_EQ(counters.scope(), CounterScope::kNone);
    EXPECT_EQ("none: " + counters.absence(), counters.text());
    return counters.text();
  };
  EXPECT_EQ(text(ENOENT), "none: this machine does not offer them (virtual machines often do not)");
  EXPECT_EQ(text(EACCES), "none: not permitted; lower /proc/sys/kernel/perf_event_paranoid to 2 or less");
  EXPECT_EQ(text(ENOSYS), "none: this kernel has no perf_event_open");
}

TEST(ProcessCounters, CountUserSpaceWhereTheKernelsWorkIsNotToBeSeen) {
  FakeKernel kernel;
  kernel.error = [](const CounterRequest& request) {
    if (request.cpu >= 0) return EACCES;
    if (request.config[0] == PERF_COUNT_HW_CACHE_MISSES) return ENOENT;
    return request.user_space ? 0 : EACCES;
  };
  const ProcessCounters counters(kernel, work_events(), {controller(Traffic::kRead)});
  EXPECT_EQ(
      counters.text(),
      "instructions, cycles (user space only); not the others: this machine does not offer them (virtual "
      "machines often do not); memory controllers: not permitted, because they count all programs; lower "
      "/proc/sys/kernel/perf_event_paranoid to 0 or less, or give the program CAP_PERFMON");
  EXPECT_EQ(counters.scope(), CounterScope::kUserSpace);
  EXPECT_EQ(counters.absence(), "") << "some are";
  const WorkCounts counts = counters.count([&] { kernel.happen(plain); });
  EXPECT_EQ(counts.instructions, 220);
  EXPECT_FALSE(counts.cache_misses);
}

TEST(ProcessCounters, AddUpMemoryControllersAndTellWhatOthersMove) {
  FakeKernel kernel;
  kernel.error = [](const CounterRequest& request) { return request.cpu < 0 ? ENOENT : 0; };
  const ProcessCounters counters(kernel, work_events(),
                                 {controller(Traffic::kRead), controller(Traffic::kWrite),
                                  controller(Traffic::kRead, 8), controller(Traffic::kWrite, 8)});
  EXPECT_THAT(counters.text(),
              AllOf(HasSubstr("none: this machine"), HasSubstr("; bytes of 2 memory controllers")));
  ASSERT_TRUE(counters.any());
  const WorkCounts counts = counters.count([&] {
    kernel.happen([](const CounterRequest& request) -> CounterReading {
      return request.cpu == 8 ? CounterReading{10, 1000, 500} : CounterReading{10, 1000, 1000};
    });
  });
  EXPECT_EQ(counts.memory_bytes, 64 * (10 + 10 + 20 + 20));
  EXPECT_EQ(counts.memory_bytes_written, 64 * (10 + 20));
  EXPECT_EQ(counts.background_bytes, 0);
  EXPECT_EQ(counts.share, 0.5);
  EXPECT_FALSE(counts.instructions);

  kernel.background = 3;
  const auto slowly = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    kernel.happen(plain);
  };
  // A rate, because a sleep may take longer.
  const double background = counters.count(slowly).background_bytes;
  EXPECT_GT(background, 0.3 * 64 * 3 * 4);
  EXPECT_LT(background, 3 * 64 * 3 * 4);
}

TEST(ProcessCounters, OfWhichOneIsRefusedAreNotThoseOfTheMemory) {
  FakeKernel kernel;
  kernel.error = [](const CounterRequest& request) { return request.cpu == 8 ? ENODEV : 0; };
  const ProcessCounters counters(kernel, work_events(),
                                 {controller(Traffic::kBoth), controller(Traffic::kBoth, 8)});
  EXPECT_THAT(counters.text(), HasSubstr("memory controllers: this machine does not offer them"));
  EXPECT_FALSE(counters.count([&] { kernel.happen(plain); }).memory_bytes);
}

TEST(ProcessCounters, ThatWereTakenMeanwhileAreAnErrorAndNothingStaysOpen) {
  FakeKernel kernel;
  const ProcessCounters counters(kernel, work_events(), {});
  int left = 4;
  kernel.error = [&](const CounterRequest&) { return left-- > 0 ? 0 : EMFILE; };
  EXPECT_THAT(test::message_of([&] { counters.count([] {}); }), HasSubstr("raise ulimit -n"));
  EXPECT_TRUE(kernel.counters.empty());
  kernel.error = [](const CounterRequest& request) { return request.thread == 11 ? 0 : ESRCH; };
  EXPECT_EQ(counters.count([&] { kernel.happen(plain); }).cycles, 100) << "the other thread has ended";
  kernel.error = {};
  EXPECT_THROW(counters.count([] { throw 3; }), int);
  EXPECT_TRUE(kernel.counters.empty());
}

TEST(ProcessCounters, CountThisProcessWithItsThreads) {
  constexpr std::array<CounterEvent, 3> kSoftware{{
      {"task_clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK},
      {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
      {"nothing", PERF_TYPE_SOFTWARE, 12345},
  }};
  const ProcessCounters counters(linux_counters(), kSoftware, {});
  if (!counters.any()) GTEST_SKIP() << "the kernel counts nothing here: " << counters.text();
  EXPECT_THAT(counters.text(), AllOf(HasSubstr("task clock, page faults"), HasSubstr("not the others")));

  constexpr std::size_t kPages = 200, kPage = 4096;
  const auto touch = [] {
    void* const memory =
        ::mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    ::madvise(memory, kPages * kPage, MADV_NOHUGEPAGE);
    for (std::size_t page = 0; page < kPages; ++page) static_cast<volatile char*>(memory)[page * kPage] = 1;
    ::munmap(memory, kPages * kPage);
  };
  std::atomic<int> turn = 0;
  std::thread pool([&] {
    while (turn == 0) std::this_thread::yield();
    touch();
    turn = 2;
    while (turn == 2) std::this_thread::yield();
  });
  const WorkCounts counts = counters.count([&] {
    touch();
    turn = 1;
    std::thread(touch).join();
    while (turn == 1) std::this_thread::yield();
  });
  turn = 3;
  pool.join();
  ASSERT_TRUE(counts.cycles);
  EXPECT_GE(*counts.cycles, 3 * kPages) << "the faults of all three";
  EXPECT_LT(*counts.cycles, 3 * kPages + 200);
  ASSERT_TRUE(counts.instructions);
  EXPECT_GT(*counts.instructions, 1e3) << "ns";
  EXPECT_FALSE(counts.cache_misses);
  const WorkCounts idle = counters.count([] {});
  EXPECT_LT(idle.cycles.value_or(0), kPages);
}

}  // namespace
}  // namespace headroom
