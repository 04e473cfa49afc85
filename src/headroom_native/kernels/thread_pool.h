// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "headroom/experiment/state.h"

namespace headroom::native {

/// A fixed team of threads for fork-join work. Worker 0 is whichever thread calls run(); the others are
/// threads of the pool. Each is pinned to its own CPU, distinct cores first. Between runs the threads spin
/// for some tens of microseconds, so that back-to-back runs start within a fraction of a microsecond, and
/// then sleep. Several threads may use one pool, but never at the same time.
class ThreadPool {
 public:
  explicit ThreadPool(int workers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }
  /// Of the workers, in their order; fewer where they share CPUs.
  std::vector<int> cpus() const {
    return {cpus_.begin(), cpus_.begin() + std::min<std::ptrdiff_t>(workers_, std::ssize(cpus_))};
  }
  /// False where several workers share a CPU: then nothing may be concluded from how they run side by side.
  bool has_a_cpu_each() const { return static_cast<std::size_t>(workers_) <= cpus_.size(); }

  /// As run() with one worker: calls body(0, 1) on the CPU of worker 0.
  template <typename Body>
  void run_alone(Body&& body) {
    pin(0);
    body(0, 1);
  }

  /// Within a body of run(): returns once every worker has called it, with everything that they wrote before.
  /// For work in several steps: a start and an end of all of them would cost twice as much.
  void meet();

  /// Calls body(worker, workers) once on every worker and returns when all are done. `body` must not throw.
  /// Allocates nothing.
  template <typename Body>
  void run(Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    dispatch([](const void* task, int worker,
                int workers) { (*static_cast<Plain*>(const_cast<void*>(task)))(worker, workers); },
             &body);
  }

 private:
  using Call = void (*)(const void*, int, int);

  void dispatch(Call call, const void* task);
  void serve(int worker);
  void pin(int worker) const;
  /// Returns a value of `word` that differs from `old`: spins first, then sleeps.
  std::uint32_t await_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) const;

  const int workers_;
  const std::vector<int> cpus_;
  Call call_ = nullptr;
  const void* task_ = nullptr;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint32_t> generation_{0};  ///< counts the runs; a change starts the workers
  alignas(64) std::atomic<std::uint32_t> pending_{0};     ///< workers, without worker 0, that are not done
  alignas(64) std::atomic<std::uint32_t> arrived_{0};     ///< of the meeting that is under way
  std::atomic<std::uint32_t> meetings_{0};                ///< that are over
  alignas(64) std::vector<std::jthread> threads_;
};

/// The pool of this case's number of threads, shared with the other cases of the runner.
std::shared_ptr<ThreadPool> shared_pool(State& state);

}  // namespace headroom::native
