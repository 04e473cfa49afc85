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
#include "headroom/workload/team.h"

namespace headroom::native {

/// Fork-join. Worker 0 is the caller of run(). Each worker has its own CPU, distinct cores first. Between
/// runs threads spin for 50 µs, so that the next one starts within a fraction of a microsecond, then sleep.
/// Several threads may use it in turn.
class ThreadPool {
 public:
  explicit ThreadPool(int workers);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int workers() const { return workers_; }
  /// In the order of workers; fewer if workers share CPUs.
  std::vector<int> cpus() const {
    return {cpus_.begin(), cpus_.begin() + std::min<std::ptrdiff_t>(workers_, std::ssize(cpus_))};
  }
  /// If workers share CPUs, concurrent timings are meaningless.
  bool has_dedicated_cpus() const { return static_cast<std::size_t>(workers_) <= cpus_.size(); }

  template <typename Body>
  void run_on_caller(Body&& body) {
    pin(0);
    body(0, 1);
  }

  /// Within run()'s body: makes earlier writes visible to all workers. Half the cost of ending one run and
  /// starting another.
  void barrier();

  /// Calls body(worker, workers) on every worker and waits. `body` must not throw. Does not allocate.
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
  /// Returns a value other than `old`. Spins first, then sleeps.
  std::uint32_t await_change(const std::atomic<std::uint32_t>& word, std::uint32_t old) const;

  const int workers_;
  const std::vector<int> cpus_;
  Call call_ = nullptr;
  const void* task_ = nullptr;
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::uint32_t> generation_{0};  ///< counts the runs; a change starts the workers
  alignas(64) std::atomic<std::uint32_t> pending_{0};     ///< workers other than 0 that are not done
  alignas(64) std::atomic<std::uint32_t> arrived_{0};     ///< workers at the current barrier
  std::atomic<std::uint32_t> barriers_{0};                ///< barriers passed
  alignas(64) std::vector<std::jthread> threads_;
};

/// Shared by the cases of the runner.
std::shared_ptr<ThreadPool> shared_pool(State& state);

/// CPUs touch their inputs first. `pool` must outlive the team.
inline Team team_of(ThreadPool& pool) {
  return [&pool](const std::function<void(int, int)>& body) { pool.run(body); };
}

}  // namespace headroom::native
