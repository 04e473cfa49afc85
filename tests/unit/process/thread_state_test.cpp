// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/thread_state.h"

#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/resource.h>

#include <cfenv>
#include <csignal>
#include <thread>

namespace headroom {
namespace {

using namespace testing;

/// On a new thread.
std::vector<std::string> restored_after(
    const std::function<void()>& change, const std::function<void()>& look = [] {}) {
  std::vector<std::string> changed, again;
  std::thread([&] {
    const ThreadState before;
    change();
    changed = before.restore();
    again = before.restore();
    look();
  }).join();
  if (changed.empty() || changed.back().find("refuses") == std::string::npos) {
    EXPECT_THAT(again, IsEmpty());
  }
  return changed;
}

TEST(ThreadState, NothingIsRestoredWhereNothingChanged) {
  EXPECT_THAT(restored_after([] {}), IsEmpty());
  // Status flags are not settings.
  EXPECT_THAT(restored_after([] { std::feraiseexcept(FE_INEXACT | FE_UNDERFLOW); }), IsEmpty());
}

TEST(ThreadState, TheRoundingModeIsRestored) {
  int mode = -1;
  EXPECT_THAT(restored_after([] { std::fesetround(FE_UPWARD); }, [&] { mode = std::fegetround(); }),
              ElementsAre("the rounding mode"));
  EXPECT_EQ(mode, FE_TONEAREST);
}

#if defined(__x86_64__)
TEST(ThreadState, FlushToZeroIsRestored) {
  float half = 0;
  const auto change = [] { __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040); };
  const auto look = [&] {
    volatile float smallest = std::numeric_limits<float>::min();
    half = smallest / 2;
  };
  EXPECT_THAT(restored_after(change, look), ElementsAre("flush to zero"));
  EXPECT_GT(half, 0);
}
#endif

TEST(ThreadState, TheSignalMaskIsRestored) {
  sigset_t now;
  const auto change = [] {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
  };
  EXPECT_THAT(restored_after(change, [&] { pthread_sigmask(SIG_SETMASK, nullptr, &now); }),
              ElementsAre("the signal mask"));
  EXPECT_EQ(sigismember(&now, SIGINT), 0);
}

TEST(ThreadState, ThePriorityIsRestoredOrTheRefusalIsTold) {
  const int before = getpriority(PRIO_PROCESS, 0);
  if (before >= 19) GTEST_SKIP() << "this process has the lowest priority already";
  int after = before;
  const auto changed =
      restored_after([] { setpriority(PRIO_PROCESS, 0, 19); }, [&] { after = getpriority(PRIO_PROCESS, 0); });
  ASSERT_THAT(changed, ElementsAre(StartsWith("the priority")));
  EXPECT_EQ(after, changed[0] == "the priority" ? before : 19);
}

}  // namespace
}  // namespace headroom
