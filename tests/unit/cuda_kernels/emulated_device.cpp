// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"

#include <ucontext.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

// Linker symbols for the section of __shared__.
// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
[[gnu::weak]] extern std::byte __start_emulated_shared;
[[gnu::weak]] extern std::byte __stop_emulated_shared;
}
// NOLINTEND(bugprone-reserved-identifier)

namespace headroom::emulated {

Index thread_index, block_index, block_size, grid_size;

namespace {

constexpr std::size_t kStackBytes = std::size_t{32} << 10;
constexpr unsigned kLanes = 32;

enum class Waits { kNot, kForBlock, kForWarp, kDone };

struct Thread {
  ucontext_t context{};
  std::byte* stack = nullptr;
  Waits waits = Waits::kNot;
  std::uint32_t sent = 0, received = 0;
  unsigned partner = 0;
};

struct StackSwitch {
#ifdef __SANITIZE_ADDRESS__
  void* fake = nullptr;
  void start(const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(&fake, bottom, bytes);
  }
  static void leave_for_good(const void* bottom, std::size_t bytes) {
    __sanitizer_start_switch_fiber(nullptr, bottom, bytes);
  }
  void finish(const void** bottom, std::size_t* bytes) {
    __sanitizer_finish_switch_fiber(fake, bottom, bytes);
  }
#else
  void start(const void* /*bottom*/, std::size_t /*bytes*/) {}
  static void leave_for_good(const void* /*bottom*/, std::size_t /*bytes*/) {}
  void finish(const void** /*bottom*/, std::size_t* /*bytes*/) {}
#endif
};

class Block {
 public:
  Block(unsigned threads, Order order, const std::function<void()>& kernel)
      : threads_(threads), order_(order), kernel_(kernel) {}

  void run();
  void suspend(Waits waits);
  Thread& current() { return threads_[thread_index.x]; }

 private:
  static void enter();
  void start(unsigned number);
  void resume(unsigned number);
  bool run_those_that_can();
  bool release_warps();
  bool release_block();
  [[noreturn]] void report_stuck() const;

  std::vector<Thread> threads_;
  Order order_;
  const std::function<void()>& kernel_;
  ucontext_t scheduler_{};
  StackSwitch scheduler_switch_;
  const void* scheduler_stack_ = nullptr;
  std::size_t scheduler_bytes_ = 0;
};

Block* running = nullptr;
std::function<void()> end_of_launch_before;

void Block::enter() {
  StackSwitch arrived;
  arrived.finish(&running->scheduler_stack_, &running->scheduler_bytes_);
  running->kernel_();
  running->current().waits = Waits::kDone;
  StackSwitch::leave_for_good(running->scheduler_stack_, running->scheduler_bytes_);
  setcontext(&running->scheduler_);
}

/// Reused: mapping a stack takes longer than a kernel.
std::byte* stack_of(unsigned thread) {
  static std::vector<std::unique_ptr<std::byte[]>> stacks;
  while (stacks.size() <= thread) stacks.emplace_back(new std::byte[kStackBytes]);
  return stacks[thread].get();
}

void Block::start(unsigned number) {
  Thread& thread = threads_[number];
  thread.waits = Waits::kNot;
  thread.stack = stack_of(number);
  getcontext(&thread.context);
  thread.context.uc_stack.ss_sp = thread.stack;
  thread.context.uc_stack.ss_size = kStackBytes;
  thread.context.uc_link = nullptr;
  makecontext(&thread.context, &Block::enter, 0);
}

void Block::resume(unsigned number) {
  Thread& thread = threads_[number];
  thread_index = {number};
  scheduler_switch_.start(thread.stack, kStackBytes);
  swapcontext(&scheduler_, &thread.context);
  scheduler_switch_.finish(nullptr, nullptr);
}

void Block::suspend(Waits waits) {
  Thread& thread = current();
  thread.waits = waits;
  StackSwitch left;
  left.start(scheduler_stack_, scheduler_bytes_);
  swapcontext(&thread.context, &scheduler_);
  left.finish(&scheduler_stack_, &scheduler_bytes_);
}

bool Block::run_those_that_can() {
  bool ran = false;
  const auto count = static_cast<unsigned>(threads_.size());
  for (unsigned i = 0; i < count; ++i) {
    const unsigned number = order_ == Order::kForward ? i : count - 1 - i;
    if (threads_[number].waits != Waits::kNot) continue;
    resume(number);
    ran = true;
  }
  return ran;
}

bool Block::release_warps() {
  bool released = false;
  for (std::size_t first = 0; first < threads_.size(); first += kLanes) {
    bool all = true;
    for (unsigned lane = 0; lane < kLanes; ++lane) all &= threads_[first + lane].waits == Waits::kForWarp;
    if (!all) continue;
    for (unsigned lane = 0; lane < kLanes; ++lane) {
      Thread& thread = threads_[first + lane];
      thread.received = threads_[first + thread.partner].sent;
      thread.waits = Waits::kNot;
    }
    released = true;
  }
  return released;
}

bool Block::release_block() {
  for (const Thread& thread : threads_) {
    if (thread.waits != Waits::kForBlock) return false;
  }
  for (Thread& thread : threads_) thread.waits = Waits::kNot;
  return true;
}

void Block::report_stuck() const {
  std::array<int, 4> counts{};
  for (const Thread& thread : threads_) ++counts[static_cast<std::size_t>(thread.waits)];
  throw std::logic_error("block " + std::to_string(block_index.x) +
                         " is stuck: " + std::to_string(counts[1]) + " threads wait for the block, " +
                         std::to_string(counts[2]) + " for their warp, and " + std::to_string(counts[3]) +
                         " have ended");
}

void Block::run() {
  for (unsigned i = 0; i < threads_.size(); ++i) start(i);
  running = this;
  while (run_those_that_can() || release_warps() || release_block()) {
  }
  running = nullptr;
  for (const Thread& thread : threads_) {
    if (thread.waits != Waits::kDone) report_stuck();
  }
}

void poison_shared_memory() {
  if (&__start_emulated_shared == nullptr) return;
  std::memset(&__start_emulated_shared, 0xff,
              static_cast<std::size_t>(&__stop_emulated_shared - &__start_emulated_shared));
}

}  // namespace

void* dynamic_shared_memory() {
  constexpr std::size_t kBytes = 227 << 10;
  alignas(256) [[gnu::section("emulated_shared")]] static std::byte memory[kBytes];
  return memory;
}

std::uint16_t f16_bits(float value) {
  return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
}

float f16_value(std::uint16_t bits) {
  return static_cast<float>(std::bit_cast<_Float16>(bits));
}

void multiply_tiles(const std::uint32_t (&a)[4], const std::uint32_t (&b)[2], float (&d)[4],
                    const std::function<float(std::uint16_t)>& value_of) {
  struct Operands {
    std::uint32_t a[4], b[2];
  };
  static std::array<Operands, 1024> operands;
  const unsigned first = thread_index.x / kLanes * kLanes, lane = thread_index.x % kLanes;
  Operands& own = operands[thread_index.x];
  std::ranges::copy(a, own.a);
  std::ranges::copy(b, own.b);
  exchange(0, lane);
  const unsigned row = lane / 4, place = lane % 4;
  const auto half = [&](std::uint32_t pair, unsigned which) {
    return value_of(static_cast<std::uint16_t>(pair >> (16 * which)));
  };
  // Lane t of four has columns 2t, 2t + 1, 2t + 8, 2t + 9 of a, and these rows of b.
  for (unsigned other = 0; other < 4; ++other) {
    const Operands& of_a = operands[first + 4 * row + other];
    for (unsigned i = 0; i < 4; ++i) {
      const Operands& of_b = operands[first + 4 * (2 * place + i % 2) + other];
      for (unsigned j = 0; j < 4; ++j)
        d[i] += half(of_a.a[i / 2 + j / 2 * 2], j % 2) * half(of_b.b[j / 2], j % 2);
    }
  }
  exchange(0, lane);
}

void wait_for_block() {
  running->suspend(Waits::kForBlock);
}

std::uint32_t exchange(std::uint32_t value, unsigned with_lane) {
  Thread& thread = running->current();
  thread.sent = value;
  thread.partner = with_lane;
  running->suspend(Waits::kForWarp);
  return thread.received;
}

void wait_for_previous_launch() {
  if (end_of_launch_before) std::exchange(end_of_launch_before, nullptr)();
}

void launch_early(unsigned blocks, unsigned threads, Order order, const std::function<void()>& end,
                  const std::function<void()>& kernel) {
  end_of_launch_before = end;
  launch(blocks, threads, order, kernel);
  if (std::exchange(end_of_launch_before, nullptr)) {
    throw std::logic_error("no thread waited for the launch before");
  }
}

void launch(unsigned blocks, unsigned threads, Order order, const std::function<void()>& kernel) {
  if (threads == 0 || threads % kLanes != 0) throw std::logic_error("only whole warps are emulated");
  Block block(threads, order, kernel);
  block_size = {threads, 1, 1};
  grid_size = {blocks, 1, 1};
  for (unsigned i = 0; i < blocks; ++i) {
    block_index = {order == Order::kForward ? i : blocks - 1 - i};
    poison_shared_memory();
    block.run();
  }
}

}  // namespace headroom::emulated
