// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/process/descriptor.h"
#include "headroom/process/exit_status.h"
#include "headroom/process/line_ring.h"

namespace headroom {

struct SpawnOptions {
  std::vector<std::string>
      arguments;  ///< arguments[0] is the program; looked up in PATH when it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to (or replacing) ours
  std::vector<std::pair<int, int>> descriptors;  ///< {our descriptor, its number in the child, 3 or more}
};

/// A child process in a process group of its own, standard input from /dev/null, standard output and standard
/// error read by us: output never blocks the child, and only the last lines of it are kept. Every descriptor
/// of ours is closed in the child but those asked for; its signals have their default actions. When the child
/// ends, what is left of its group is killed, so that nothing runs beside what is measured next; what left
/// the group (a daemon) lives on, and is not waited for. The destructor kills the group and reaps the child.
class Child {
 public:
  /// Throws Error when the program cannot be started, saying why (not found, not executable).
  explicit Child(const SpawnOptions& options);
  ~Child();
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;

  pid_t pid() const { return pid_; }
  /// Descriptors to poll for output; -1 once at end of file.
  int stdout_fd() const { return stdout_.get(); }
  int stderr_fd() const { return stderr_.get(); }
  /// Descriptor that polls readable once the child has ended; -1 where the kernel has none (before
  /// Linux 5.3).
  int exit_fd() const { return exit_.get(); }
  /// Reads what is there without blocking, into the rings; at most 1 MiB of each stream a call.
  void drain();
  const LineRing& stdout_lines() const { return stdout_lines_; }
  const LineRing& stderr_lines() const { return stderr_lines_; }

  /// The status if it has ended, with its output drained; nothing while it runs. Never blocks.
  std::optional<ExitStatus> poll_exit();
  /// Drains output until the child ends or the time is over; nothing on time-out. A negative time-out waits
  /// for ever.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout);
  /// TERM to the whole group, KILL after `grace` (or as soon as the child itself has ended), reaps. Returns
  /// how the child ended.
  ExitStatus terminate(std::chrono::milliseconds grace = std::chrono::milliseconds(500));

 private:
  void kill_and_reap();

  pid_t pid_ = -1;
  Descriptor stdout_, stderr_, exit_;
  std::optional<ExitStatus> status_;
  LineRing stdout_lines_, stderr_lines_;
};

}  // namespace headroom
