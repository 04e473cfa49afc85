// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/files.h"

namespace headroom {

/// Finds a program: `name` itself if it contains a slash (relative to `folder`, empty for the current one),
/// else in PATH. Returns nullopt if there is no executable file.
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  const std::filesystem::path& folder = {});

/// Exit status of a child.
struct ExitStatus {
  bool signalled = false;
  int code = 0;    ///< exit code or signal number; -1 if unknown
  rusage usage{};  ///< of the child and of descendants that it waited for

  bool ok() const { return !signalled && code == 0; }
  /// "exit code 3", "killed by signal 11 (Segmentation fault)".
  std::string text() const;
};

/// The last lines of a stream in bounded memory, for any input: gigabytes, no line breaks, binary.
class LineRing {
 public:
  explicit LineRing(std::size_t max_lines = 20, std::size_t max_line_bytes = 512);

  void append(std::string_view bytes);
  /// Oldest first, including an unfinished last line. Long lines are cut and end in "…".
  std::vector<std::string> lines() const;
  std::size_t total_bytes() const { return total_bytes_; }

 private:
  std::size_t max_lines_, max_line_bytes_;
  std::deque<std::string> lines_;
  std::string partial_;
  bool partial_cut_ = false;
  std::size_t total_bytes_ = 0;
};

struct SpawnOptions {
  std::vector<std::string>
      arguments;  ///< arguments[0] is the program; looked up in PATH when it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours, or replacing
  std::vector<std::pair<int, int>> descriptors;  ///< {our descriptor, its number in the child (3 or more)}
  std::string folder{};                          ///< working directory; relative program paths start there
  int standard_input = -1;                       ///< descriptor that the child reads; -1: /dev/null
  int standard_output = -1;       ///< descriptor that the child writes; -1: a pipe that we read
  std::size_t capture_bytes = 0;  ///< how many bytes to keep from the start of that pipe
};

/// A child process in its own process group. We read its standard output (unless redirected) and standard
/// error, so output never blocks it; only the last lines are kept. The child inherits only the requested
/// descriptors, and default signal actions. When it ends, the rest of its group is killed, so that nothing
/// disturbs the next measurement; daemons that left the group live on. The destructor kills the group and
/// reaps the child.
class Child {
 public:
  /// Throws Error with the reason if the program cannot be started (not found, not executable).
  explicit Child(const SpawnOptions& options);
  ~Child();
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;

  pid_t pid() const { return pid_; }
  /// Descriptors to poll for output; -1 at end of file.
  int stdout_fd() const { return stdout_.get(); }
  int stderr_fd() const { return stderr_.get(); }
  /// Descriptor that becomes readable when the child ends; -1 before Linux 5.3.
  int exit_fd() const { return exit_.get(); }
  /// Reads available output without blocking, at most 1 MiB per stream and call.
  void drain();
  const LineRing& stdout_lines() const { return stdout_lines_; }
  const LineRing& stderr_lines() const { return stderr_lines_; }
  /// The first SpawnOptions::capture_bytes bytes of standard output.
  const std::string& captured_output() const { return captured_; }

  /// Just before the child was started.
  std::chrono::steady_clock::time_point started() const { return started_; }
  /// When we saw it end; accurate only if somebody was waiting. started() while it runs.
  std::chrono::steady_clock::time_point ended() const { return ended_; }

  /// The status if it has ended, with its output drained, else nullopt. Never blocks.
  std::optional<ExitStatus> poll_exit();
  /// Whether a signal stopped it (SIGSTOP, a terminal's Ctrl-Z).
  bool is_stopped() const;
  /// Drains output until the child ends. Returns nullopt on time-out (negative: never), or when `give_up`
  /// returns true; it is asked at the start, after a signal and a few times a second.
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout,
                                 const std::function<bool()>& give_up = {});
  /// Sends `signal` to the whole group, unless the child has ended.
  void signal_group(int signal);
  /// Sends SIGTERM to the group, SIGKILL after `grace` or as soon as the child has ended, and reaps the
  /// child.
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
