// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/thread_state.h"

#include <pthread.h>
#include <sys/resource.h>

#include <cfenv>
#include <cstring>

namespace headroom {
namespace {

#if defined(__x86_64__)
constexpr std::uint32_t kSseStatus = 0x3f;
constexpr std::uint64_t kRounding = 0x6000, kFlush = 0x8040;  // FTZ, DAZ
constexpr std::uint16_t kX87Rounding = 0x0c00;

std::uint32_t mxcsr() {
  std::uint32_t value = 0;
  asm volatile("stmxcsr %0" : "=m"(value));
  return value;
}
std::uint64_t vector_control() {
  return mxcsr() & ~kSseStatus;
}
void set_vector_control(std::uint64_t control) {
  const std::uint32_t value = static_cast<std::uint32_t>(control) | (mxcsr() & kSseStatus);
  asm volatile("ldmxcsr %0" : : "m"(value));
}
std::uint16_t x87_control() {
  std::uint16_t value = 0;
  asm volatile("fnstcw %0" : "=m"(value));
  return value;
}
void set_x87_control(std::uint16_t control) {
  asm volatile("fldcw %0" : : "m"(control));
}
#else
constexpr std::uint16_t kX87Rounding = 0;
std::uint16_t x87_control() {
  return 0;
}
void set_x87_control(std::uint16_t) {}

#if defined(__aarch64__)
constexpr std::uint64_t kRounding = 0xc00000, kFlush = 0x1080000;  // FZ, FZ16

std::uint64_t vector_control() {
  std::uint64_t value = 0;
  asm volatile("mrs %0, fpcr" : "=r"(value));
  return value;
}
void set_vector_control(std::uint64_t control) {
  asm volatile("msr fpcr, %0" : : "r"(control));
}
#else
constexpr std::uint64_t kRounding = ~std::uint64_t{0}, kFlush = 0;

std::uint64_t vector_control() {
  return static_cast<std::uint64_t>(std::fegetround());
}
void set_vector_control(std::uint64_t control) {
  std::fesetround(static_cast<int>(control));
}
#endif
#endif

bool is_priority_restored(int nice, int policy, const sched_param& parameters) {
  const bool is_scheduled = sched_setscheduler(0, policy, &parameters) == 0;
  return setpriority(PRIO_PROCESS, 0, nice) == 0 && is_scheduled;
}

}  // namespace

ThreadState::ThreadState() : vector_control_(vector_control()), x87_control_(x87_control()) {
  sigemptyset(&signals_);
  pthread_sigmask(SIG_SETMASK, nullptr, &signals_);
  // Of the thread on Linux.
  nice_ = getpriority(PRIO_PROCESS, 0);
  policy_ = sched_getscheduler(0);
  sched_getparam(0, &parameters_);
}

std::vector<std::string> ThreadState::restore() const {
  const ThreadState now;
  std::vector<std::string> changed;
  const std::uint64_t vector = now.vector_control_ ^ vector_control_;
  const auto x87 = static_cast<std::uint16_t>(now.x87_control_ ^ x87_control_);
  if ((vector & kRounding) != 0 || (x87 & kX87Rounding) != 0) changed.emplace_back("the rounding mode");
  if ((vector & kFlush) != 0) changed.emplace_back("flush to zero");
  if ((vector & ~(kRounding | kFlush)) != 0 || (x87 & ~kX87Rounding) != 0)
    changed.emplace_back("the floating-point control");
  if (vector != 0) set_vector_control(vector_control_);
  if (x87 != 0) set_x87_control(x87_control_);
  if (std::memcmp(&now.signals_, &signals_, sizeof signals_) != 0) {
    pthread_sigmask(SIG_SETMASK, &signals_, nullptr);
    changed.emplace_back("the signal mask");
  }
  if (now.nice_ != nice_ || now.policy_ != policy_ ||
      now.parameters_.sched_priority != parameters_.sched_priority) {
    const bool is_restored = is_priority_restored(nice_, policy_, parameters_);
    changed.emplace_back(is_restored ? "the priority" : "the priority (which the kernel refuses to restore)");
  }
  return changed;
}

}  // namespace headroom
