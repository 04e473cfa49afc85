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

/// In PATH, or if `name` contains a slash, relative to `folder` (empty: current).
std::optional<std::filesystem::path> find_program(const std::string& name,
                                                  const std::filesystem::path& folder = {});

struct ExitStatus {
  bool signalled = false;
  int code = 0;    ///< exit code or signal; -1 if unknown
  rusage usage{};  ///< of the child and descendants it waited for

  bool ok() const { return !signalled && code == 0; }
  /// "exit code 3", "killed by signal 11 (Segmentation fault)".
  std::string text() const;
};

/// Last lines of a stream, in bounded memory.
class LineRing {
 public:
  explicit LineRing(std::size_t max_lines = 20, std::size_t max_line_bytes = 512);

  void append(std::string_view bytes);
  /// Oldest first, including an unfinished line. Long lines end in "…".
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
  std::vector<std::string> arguments;  ///< program first; searched in PATH if it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to or replacing ours
  std::vector<std::pair<int, int>> descriptors;                  ///< {ours, number in the child (>= 3)}
  std::string folder{};           ///< working directory; relative program paths start there
  int standard_input = -1;        ///< -1: /dev/null
  int standard_output = -1;       ///< -1: a pipe that we read
  std::size_t capture_bytes = 0;  ///< bytes kept from the start of that pipe
};

/// Child in its own process group. Drains standard output (unless redirected) and standard error, keeping the
/// last lines. The child inherits only the requested descriptors, and default signal actions. Its end kills
/// the rest of its group, except daemons that left it. The destructor kills the group and reaps the child.
class Child {
 public:
  /// Throws Error if the program cannot be started.
  explicit Child(const SpawnOptions& options);
  ~Child();
  Child(Child&&) noexcept;
  Child& operator=(Child&&) noexcept;

  pid_t pid() const { return pid_; }
  /// To poll; -1 at end of file.
  int stdout_fd() const { return stdout_.get(); }
  int stderr_fd() const { return stderr_.get(); }
  /// Readable when the child ends; -1 before Linux 5.3.
  int exit_fd() const { return exit_.get(); }
  /// Does not block; at most 1 MiB per stream and call.
  void drain();
  const LineRing& stdout_lines() const { return stdout_lines_; }
  const LineRing& stderr_lines() const { return stderr_lines_; }
  const std::string& captured_output() const { return captured_; }

  std::chrono::steady_clock::time_point started() const { return started_; }
  /// When its end was seen: accurate only while waiting. started() while it runs.
  std::chrono::steady_clock::time_point ended() const { return ended_; }

  /// Drains the output at the end. Never blocks.
  std::optional<ExitStatus> poll_exit();
  /// By a signal (SIGSTOP, Ctrl-Z).
  bool is_stopped() const;
  /// Drains output until the child ends. Nullopt on time-out (negative: never) or if `give_up` returns true
  /// (called first, after signals, a few times a second).
  std::optional<ExitStatus> wait(std::chrono::milliseconds timeout,
                                 const std::function<bool()>& give_up = {});
  /// No-op if the child has ended.
  void signal_group(int signal);
  /// SIGTERM to the group, then SIGKILL after `grace` or the child's end; reaps the child.
  ExitStatus terminate(std::chrono::milliseconds grace = std::chrono::milliseconds(500));

 private:
  void kill_and_reap();
  void move_from(Child& other) noexcept;

  pid_t pid_ = -1;
  Descriptor stdout_, stderr_, exit_;
  std::optional<ExitStatus> status_;
  LineRing stdout_lines_, stderr_lines_;
  std::string captured_;
  std::size_t capture_bytes_ = 0;
  std::chrono::steady_clock::time_point started_, ended_;
};

}  // namespace headroom
