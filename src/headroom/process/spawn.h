// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
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
  std::string folder{};      ///< where it runs; a program with a slash in its name is looked up from there
  int standard_input = -1;   ///< a descriptor of ours that the child reads; -1: /dev/null
  int standard_output = -1;  ///< one that it writes to, and that we do not read; -1: a pipe that we read
  std::size_t capture_bytes =
      0;  ///< how much of what comes through that pipe is kept as it is, from its begin
};

/// A child process in a process group of its own, standard output (unless it goes elsewhere) and standard
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
  /// The first bytes of standard output, as many as SpawnOptions::capture_bytes asked for.
  const std::string& captured_output() const { return captured_; }

  /// Just before the child was started.
  std::chrono::steady_clock::time_point started() const { return started_; }
  /// When its end was seen: right after it, where somebody waited. started() while it runs.
  std::chrono::steady_clock::time_point ended() const { return ended_; }

  /// The status if it has ended, with its output drained; nothing while it runs. Never blocks.
  std::optional<ExitStatus> poll_exit();
  /// Whether a signal (STOP, as a terminal's Ctrl-Z sends) keeps it from running.
  bool is_stopped() const;
  /// Drains output until the child ends or the time is over; nothing on time-out. A negative time-out waits
  /// for ever. `give_up` (if any) ends the wait too: it is asked at first, when a signal came, and a few
  /// times a second.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout,
                                 const std::function<bool()>& give_up = {});
  /// Sends `signal` to the whole group, unless the child has ended.
  void signal_group(int signal);
  /// TERM to the whole group, KILL after `grace` (or as soon as the child itself has ended), reaps. Returns
  /// how the child ended.
  ExitStatus terminate(std::chrono::milliseconds grace = std::chrono::milliseconds(500));

 private:
  void kill_and_reap();
  void take_over(Child& other) noexcept;

  pid_t pid_ = -1;
  Descriptor stdout_, stderr_, exit_;
  std::optional<ExitStatus> status_;
  LineRing stdout_lines_, stderr_lines_;
  std::string captured_;
  std::size_t capture_bytes_ = 0;
  std::chrono::steady_clock::time_point started_, ended_;
};

}  // namespace headroom
