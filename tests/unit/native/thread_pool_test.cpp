// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/thread_pool.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <set>

#include "headroom/environment/processor.h"

namespace headroom::native {
namespace {

/// Read before a test pins this thread.
const std::vector<int> kCpus = read_topology().allowed_cpus;

double cpu_ms_of_process() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ms = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3;
  };
  return ms(usage.ru_utime) + ms(usage.ru_stime);
}

TEST(ThreadPool, EachRunCallsEveryWorkerOnce) {
  for (const int workers : {1, 2, 3, 8}) {
    ThreadPool pool(workers);
    std::array<int, 8> calls{};
    for (int run = 0; run < 100; ++run) {
      pool.run([&](int worker, int of) {
        EXPECT_EQ(of, workers);
        ++calls[static_cast<std::size_t>(worker)];
      });
    }
    for (int worker = 0; worker < 8; ++worker) {
      EXPECT_EQ(calls[static_cast<std::size_t>(worker)], worker < workers ? 100 : 0)
          << worker << " of " << workers;
    }
  }
}

TEST(ThreadPool, WorkerZeroIsTheCaller) {
  ThreadPool pool(2);
  std::thread::id worker_0, worker_1;
  pool.run([&](int worker, int) { (worker == 0 ? worker_0 : worker_1) = std::this_thread::get_id(); });
  EXPECT_EQ(worker_0, std::this_thread::get_id());
  EXPECT_NE(worker_1, std::this_thread::get_id());
}

TEST(ThreadPool, WorksAfterItsThreadsFellAsleep) {
  ThreadPool pool(2);
  int sum = 0;
  for (int run = 0; run < 3; ++run) {
    std::atomic<int> calls{0};
    pool.run([&](int, int) { ++calls; });
    sum += calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(sum, 6);
}

TEST(ThreadPool, WorkersMeetWithWhatEachHasWritten) {
  for (const int workers : {1, 2, 5}) {
    ThreadPool pool(workers);
    std::vector<int> written(static_cast<std::size_t>(workers), 0);
    std::atomic<int> wrong{0};
    for (int run = 0; run < 100; ++run) {
      pool.run([&](int worker, int count) {
        for (int step = 1; step <= 3; ++step) {
          written[static_cast<std::size_t>(worker)] = 10 * run + step;
          pool.barrier();
          for (int other = 0; other < count; ++other) {
            if (written[static_cast<std::size_t>(other)] != 10 * run + step) ++wrong;
          }
          pool.barrier();
        }
      });
    }
    EXPECT_EQ(wrong, 0) << workers << " workers";
  }
}

TEST(ThreadPool, AWorkerAloneIsTheCaller) {
  ThreadPool pool(3);
  std::thread::id id;
  int workers = 0;
  pool.run_on_caller([&](int, int count) {
    id = std::this_thread::get_id();
    workers = count;
  });
  EXPECT_EQ(id, std::this_thread::get_id());
  EXPECT_EQ(workers, 1);
}

TEST(ThreadPool, BurnsNoCpuWhileIdle) {
  ThreadPool pool(2);
  pool.run([](int, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const double before = cpu_ms_of_process();
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_LT(cpu_ms_of_process() - before, 10);
}

TEST(ThreadPool, MayBeUsedByOneThreadAfterAnother) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  for (int user = 0; user < 4; ++user) {
    std::jthread([&] {
      for (int run = 0; run < 50; ++run) pool.run([&](int, int) { ++calls; });
    }).join();
  }
  EXPECT_EQ(calls, 400);
}

TEST(ThreadPool, PinsEachCallerAndEachWorkerToItsOwnCpu) {
  if (kCpus.size() < 2) GTEST_SKIP() << "one CPU";
  ThreadPool pool(2);
  ASSERT_TRUE(pool.has_dedicated_cpus());
  // Two callers in turn, each worker 0.
  for (int user = 0; user < 2; ++user) {
    std::jthread([&] {
      std::array<cpu_set_t, 2> allowed{};
      pool.run([&](int worker, int) {
        sched_getaffinity(0, sizeof(cpu_set_t), &allowed[static_cast<std::size_t>(worker)]);
      });
      EXPECT_EQ(CPU_COUNT(&allowed[0]), 1);
      EXPECT_EQ(CPU_COUNT(&allowed[1]), 1);
      EXPECT_TRUE(CPU_ISSET(kCpus[0], &allowed[0]));
      EXPECT_TRUE(CPU_ISSET(kCpus[1], &allowed[1]));
    }).join();
  }
}

TEST(ThreadPool, MoreWorkersThanCpusStillFinish) {
  ThreadPool pool(4 * static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_FALSE(pool.has_dedicated_cpus());
  std::atomic<int> calls{0};
  for (int run = 0; run < 10; ++run) pool.run([&](int, int) { ++calls; });
  EXPECT_EQ(calls, 10 * pool.workers());
}

}  // namespace
}  // namespace headroom::native
