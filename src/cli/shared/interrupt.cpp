// SPDX-License-Identifier: Apache-2.0
#include "cli/shared/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "cli/shared/say.h"

namespace headroom::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// A terminal that closes sends HUP twice, by its shell and by the kernel: nobody is there to ask for haste.
void on_signal(int number) {
  if (interrupted.exchange(true) && number != SIGHUP) _exit(static_cast<int>(ExitCode::kInterrupted));
}

std::atomic<int> signals{0};
static_assert(std::atomic<int>::is_always_lock_free);

void count_signal(int) {
  ++signals;
}

bool handle_signals(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  struct sigaction before {};
  // nohup ignores HUP for us.
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGHUP, &action, nullptr);
  return true;
}

}  // namespace

const std::atomic<bool>& interrupt_flag() {
  static const bool installed = handle_signals(on_signal);
  (void)installed;
  return interrupted;
}

const std::atomic<int>& interrupt_count() {
  static const bool installed = handle_signals(count_signal);
  (void)installed;
  return signals;
}

ExitCode tell_interrupted() {
  say("interrupted; what had been measured is above and in the files");
  return ExitCode::kInterrupted;
}

}  // namespace headroom::cli
