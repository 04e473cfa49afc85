// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/kernels/thread_pool.h"

#include <chrono>
#include <string>

#include "headroom/base/error.h"
#include "headroom/environment/processor.h"
#include "headroom/process/affinity.h"

namespace headroom::native {
namespace {

/// Longer than the gap between iterations or samples of a busy case.
constexpr auto kSpinTime = std::chrono::microseconds(50);

void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// One hardware thread of each core first. Read before any thread is pinned, which restricts the caller.
const std::vector<int>& cpus_of_this_process() {
  static const std::vector<int> cpus = [] {
    try {
      return read_topology().allowed_cpus;
    } catch (const Error&) {
      return allowed_cpus();
    }
  }();
  return cpus;
}

}  // namespace

ThreadPool::ThreadPool(int workers) : workers_(std::max(1, workers)), cpus_(cpus_of_this_process()) {
  for (int worker = 1; worker < workers_; ++worker) {
    threads_.emplace_back([this, worker] { serve(worker); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_.store(true, std::memory_order_relaxed);
  generation_.fetch_add(1, std::memory_order_release);
  generation_.notify_all();
}

void ThreadPool::dispatch(Call call, const void* task) {
  pin(0);
  call_ = call;
  task_ = task;
  pending_.store(static_cast<std::uint32_t>(workers_ - 1), std::memory_order_relaxed);
  if (workers_ > 1) {
    generation_.fetch_add(1, std::memory_order_seq_cst);
    generation_.notify_all();
  }
  call(task, 0, workers_);
  for (std::uint32_t left = pending_.load(std::memory_order_acquire); left > 0;) {
    left = await_change(pending_, left);
  }
}

void ThreadPool::serve(int worker) {
  pin(worker);
  for (std::uint32_t seen = 0;;) {
    seen = await_change(generation_, seen);
    if (stopping_.load(std::memory_order_relaxed)) return;
    call_(task_, worker, workers_);
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) == 1) pending_.notify_one();
  }
}

void ThreadPool::barrier() {
  const std::uint32_t seen = barriers_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 < static_cast<std::uint32_t>(workers_)) {
    await_change(barriers_, seen);
    return;
  }
  // No worker arrives for the next barrier before this one is released.
  arrived_.store(0, std::memory_order_relaxed);
  barriers_.fetch_add(1, std::memory_order_release);
  barriers_.notify_all();
}

void ThreadPool::pin(int worker) const {
  thread_local int pinned_to = -1;
  if (cpus_.empty()) return;
  const int cpu = cpus_[static_cast<std::size_t>(worker) % cpus_.size()];
  if (pinned_to == cpu) return;
  pin_this_thread(cpu);  // may fail in a sandbox
  pinned_to = cpu;
}

std::uint32_t ThreadPool::await_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) const {
  constexpr int kLooksPerClockReading = 32;
  if (has_dedicated_cpus()) {
    const auto end = std::chrono::steady_clock::now() + kSpinTime;
    do {
      for (int look = 0; look < kLooksPerClockReading; ++look) {
        const std::uint32_t value = word.load(std::memory_order_acquire);
        if (value != old) return value;
        relax();
      }
    } while (std::chrono::steady_clock::now() < end);
  }
  word.wait(old, std::memory_order_acquire);
  return word.load(std::memory_order_acquire);
}

std::shared_ptr<ThreadPool> shared_pool(State& state) {
  const int threads = state.threads();
  return state.shared<ThreadPool>("threads=" + std::to_string(threads),
                                  [threads] { return std::make_shared<ThreadPool>(threads); });
}

}  // namespace headroom::native
