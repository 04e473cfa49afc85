// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_pingpong.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "headroom_native/kernels/thread_pool.h"

namespace headroom::native {
namespace {

struct alignas(64) Ball {
  std::atomic<std::uint64_t> transfers{0};
};

/// Passes the ball until it has made `count` transfers: worker 0 takes it at even numbers, worker 1 at odd
/// ones.
void play(Ball& ball, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t turn = first; turn < count; turn += 2) {
    while (ball.transfers.load(std::memory_order_acquire) != turn) {
    }
    ball.transfers.store(turn + 1, std::memory_order_release);
  }
}

/// Nanoseconds of one transfer, averaged over `count` (even).
double transfer_ns(ThreadPool& pool, std::uint64_t count) {
  Ball ball;
  Ball ready;
  double elapsed_ns = 0;
  pool.run([&](int worker, int) {
    if (worker > 1) return;
    if (worker == 1) {
      ready.transfers.store(1, std::memory_order_release);
      play(ball, 1, count);
      return;
    }
    // The clock starts when the other worker is awake.
    while (ready.transfers.load(std::memory_order_acquire) == 0) {
    }
    const auto start = std::chrono::steady_clock::now();
    play(ball, 0, count);
    while (ball.transfers.load(std::memory_order_acquire) != count) {
    }
    elapsed_ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
  });
  return elapsed_ns / static_cast<double>(count);
}

}  // namespace

void limit_pingpong(State& state) {
  if (state.threads() < 2) state.skip("needs two threads");
  const auto pool = shared_pool(state);
  if (!pool->has_a_cpu_each()) state.skip("needs a CPU for each of its threads");
  constexpr std::uint64_t kFewest = 1000;  // what the clock costs disappears among so many
  state.measure_batches([&](std::uint64_t iterations) {
    const std::uint64_t count = std::max(kFewest, iterations + iterations % 2);
    return transfer_ns(*pool, count) * static_cast<double>(iterations);
  });
}

}  // namespace headroom::native
