// SPDX-License-Identifier: Apache-2.0
#include "headroom/console/interrupt.h"

#include <unistd.h>

#include <csignal>
#include <cstring>

#include "headroom/console/output.h"

namespace headroom::cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);

std::atomic<const char*> restoring{nullptr};
static_assert(std::atomic<const char*>::is_always_lock_free);

void exit_at_once() {
  const char* const sequence = restoring;
  // The terminal may be gone.
  if (sequence != nullptr && ::write(STDERR_FILENO, sequence, std::strlen(sequence)) < 0) {
  }
  _exit(static_cast<int>(ExitCode::kInterrupted));
}

/// A closing terminal sends HUP twice, from its shell and the kernel.
void on_signal(int number) {
  if (interrupted.exchange(true) && number != SIGHUP) exit_at_once();
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

bool was_interrupted() {
  return interrupted || signals > 0;
}

void restore_terminal_with(const char* sequence) {
  restoring = sequence;
}

ExitCode report_interrupted() {
  print_message("interrupted; results so far are above and in the files");
  return ExitCode::kInterrupted;
}

ExitCode unless_interrupted(const std::function<ExitCode()>& write) {
  static_cast<void>(interrupt_flag());
  try {
    return write();
  } catch (const Error&) {
    if (!was_interrupted()) throw;
    print_sentence("interrupted; nothing was written");
    return ExitCode::kInterrupted;
  }
}

}  // namespace headroom::cli
