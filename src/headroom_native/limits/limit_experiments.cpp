// SPDX-License-Identifier: Apache-2.0
#include "headroom_native/limits/limit_experiments.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <type_traits>

#include "headroom/experiment/buffer.h"
#include "headroom/workload/input_copies.h"
#include "headroom/workload/team.h"
#include "headroom_native/kernels/thread_pool.h"
#include "headroom_native/limits/memory_kernels.h"
#include "headroom_native/limits/peak_kernels.h"

namespace headroom::native {
namespace {

/// Several passes per iteration amortise fork and join. Cold: copies that together exceed twice the
/// last-level cache.
struct LimitPlan {
  std::size_t bytes = 0;   ///< of one pass, in whole lines, at most the requested number
  std::size_t stride = 0;  ///< from the start of one pass to the next; 0 when hot
  std::size_t passes = 1;
  std::size_t iterations = 1;  ///< number that State::measure cycles through
  std::shared_ptr<Buffer> memory;

  std::byte* start(std::size_t index) const { return memory->data() + index * passes * stride; }
  double bytes_per_iteration() const { return static_cast<double>(bytes) * static_cast<double>(passes); }
};

/// From L1, 16 MiB take about 30 µs: a hundred times a fork and join.
constexpr std::size_t kHotBytesPerIteration = std::size_t{16} << 20;
/// From memory, 4 MiB take longer than that.
constexpr std::size_t kColdBytesPerIteration = std::size_t{4} << 20;
/// Working sets of similar size share memory.
constexpr std::size_t kArenaUnit = std::size_t{64} << 20;

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

std::shared_ptr<Buffer> arena(State& state, std::size_t bytes) {
  const std::size_t rounded = bytes < kArenaUnit ? bytes : rounded_up(bytes, kArenaUnit);
  return state.shared<Buffer>("limit bytes=" + std::to_string(rounded), [&] {
    state.require_memory(rounded);
    return std::make_shared<Buffer>(rounded);
  });
}

/// Rounds the axis `bytes` down to a multiple of `unit`; skips the case if nothing is left or memory is
/// insufficient.
LimitPlan plan_limit(State& state, std::size_t unit) {
  LimitPlan plan;
  plan.bytes = limit_bytes(state, unit);
  // Before rounding up, which could wrap.
  state.require_memory(plan.bytes);
  const bool hot = state.caches() == Caches::kHot;
  const std::size_t goal = hot ? kHotBytesPerIteration : kColdBytesPerIteration;
  plan.passes = std::max<std::size_t>(1, goal / plan.bytes);
  plan.iterations = state.rotate(plan.bytes * plan.passes);
  plan.stride = hot ? 0 : plan.bytes;
  plan.memory = arena(state, hot ? plan.bytes : plan.iterations * plan.passes * plan.stride);
  state.note("passes", std::to_string(plan.passes));
  return plan;
}

/// Calls `kernel` on each worker's share of `bytes` at the start of each pass.
template <typename Kernel>
void measure_passes(State& state, const LimitPlan& plan, std::size_t bytes, Kernel kernel) {
  const auto pool = shared_pool(state);
  state.measure([&](std::size_t index) {
    pool->run([&](int worker, int workers) {
      const Slice lines = slice_of(bytes / kLineBytes, worker, workers);
      std::byte* data = plan.start(index) + lines.begin * kLineBytes;
      for (std::size_t pass = 0; pass < plan.passes; ++pass, data += plan.stride)
        kernel(data, lines.size() * kLineBytes);
      if constexpr (!std::is_same_v<Kernel, ReadKernel>) store_fence();
    });
  });
}

void measure_writes(State& state, WriteKernel kernel) {
  const LimitPlan plan = plan_limit(state, kLineBytes);
  state.work({.bytes = plan.bytes_per_iteration(), .bytes_written = plan.bytes_per_iteration()});
  measure_passes(state, plan, plan.bytes, kernel);
}

struct alignas(64) Ball {
  std::atomic<std::uint64_t> transfers{0};
};

/// Worker 0 takes even numbers, worker 1 odd ones.
void play(Ball& ball, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t turn = first; turn < count; turn += 2) {
    while (ball.transfers.load(std::memory_order_acquire) != turn) {
    }
    ball.transfers.store(turn + 1, std::memory_order_release);
  }
}

/// `count` is even.
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

void limit_read(State& state) {
  const LimitPlan plan = plan_limit(state, kLineBytes);
  const Isa isa = chosen_isa();
  state.work({.bytes = plan.bytes_per_iteration()});
  state.note("isa", name_of(isa));
  measure_passes(state, plan, plan.bytes, read_kernel(state.text("pattern"), isa));
}

void limit_write(State& state) {
  const std::string pattern = state.text("pattern");
  if (pattern != "plain" && !kHasNontemporalStores) state.skip("this CPU has no non-temporal stores");
  const Isa isa = chosen_isa();
  state.note("isa", name_of(isa));
  measure_writes(state, write_kernel(pattern, isa));
}

void limit_zero_fill(State& state) {
  const WriteKernel kernel = zero_kernel();
  if (kernel == nullptr) state.skip("this CPU has no instruction that clears a line of 64 bytes");
  measure_writes(state, kernel);
}

void limit_copy(State& state) {
  const std::string pattern = state.text("pattern");
  if (pattern != "plain" && !kHasNontemporalStores) state.skip("this CPU has no non-temporal stores");
  const LimitPlan plan = plan_limit(state, 2 * kLineBytes);
  const std::size_t half = plan.bytes / 2;
  const Isa isa = chosen_isa();
  const CopyKernel kernel = copy_kernel(pattern, isa);
  state.work({.bytes = plan.bytes_per_iteration(), .bytes_written = plan.bytes_per_iteration() / 2});
  state.note("isa", name_of(isa));
  measure_passes(state, plan, half,
                 [&](std::byte* from, std::size_t bytes) { kernel(from + half, from, bytes); });
}

void limit_peak(State& state) {
  const std::string& dtype = state.text("dtype");
  const PeakKernel kernel = peak_kernel(dtype, state.text("pattern"), chosen_isa());
  if (kernel.run == nullptr) state.skip(kernel.why_not);
  // At least 0.1 ms: a thousand times a fork and join.
  constexpr double kFlopsPerThread = 8e7;
  const auto rounds = static_cast<std::uint64_t>(kFlopsPerThread / kernel.flops_per_round) + 1024;
  const auto pool = shared_pool(state);
  state.work(
      {.flops = static_cast<double>(rounds) * kernel.flops_per_round * pool->workers(), .dtype = dtype});
  state.note("instruction", kernel.instruction);
  state.measure([&] { pool->run([&](int, int) { kernel.run(rounds); }); });
}

void limit_pingpong(State& state) {
  if (state.threads() < 2) state.skip("needs 2 threads or more");
  const auto pool = shared_pool(state);
  if (!pool->has_dedicated_cpus()) state.skip("needs one CPU per thread");
  constexpr std::uint64_t kFewest = 1000;  // hides the cost of the clock
  state.measure_batches([&](std::uint64_t iterations) {
    const std::uint64_t count = std::max(kFewest, iterations + iterations % 2);
    return transfer_ns(*pool, count) * static_cast<double>(iterations);
  });
}

}  // namespace headroom::native
