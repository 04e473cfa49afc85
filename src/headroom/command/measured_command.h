// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/process/exit_status.h"

namespace headroom {

/// A program as it shall be run once.
struct CommandSpec {
  std::vector<std::string> arguments;  ///< the program first; looked up in PATH when it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to (or replacing) ours
  std::filesystem::path folder;                                  ///< where it runs; empty: ours
  std::filesystem::path input;  ///< its standard input; empty: nothing to read

  enum class Output { kDiscard, kFile, kCapture };
  Output output = Output::kDiscard;
  std::filesystem::path output_file;                  ///< kFile: emptied first
  std::size_t capture_bytes = std::size_t{1} << 20U;  ///< kCapture: what comes after is read and dropped

  std::chrono::milliseconds timeout{-1};  ///< negative: none
  std::chrono::milliseconds grace{2000};  ///< between asking the group to end and killing it
};

/// The arguments that make `shell` run `line`: {"/bin/sh", "-c", line}.
std::vector<std::string> shell_arguments(const std::string& line, const std::string& shell = "/bin/sh");

/// How one run went. Times and counts are the kernel's accounting of this child and of the descendants that
/// it waited for (wait4); processes that it left behind are not in it.
struct CommandResult {
  ExitStatus status;
  bool timed_out = false;
  bool interrupted = false;

  double wall_ns = 0;  ///< from just before the start to when its end was seen
  double user_ns = 0, system_ns = 0;
  /// Largest resident set of any one process. The kernel counts what this program occupied itself when it
  /// started the child, so it is never below `peak_rss_floor_bytes`; equal to it means "at most".
  std::int64_t peak_rss_bytes = 0, peak_rss_floor_bytes = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;

  std::string output;                    ///< kCapture: its first bytes
  bool output_cut = false;               ///< kCapture: there was more
  std::vector<std::string> error_lines;  ///< the last lines of standard error

  bool ok() const { return status.ok() && !timed_out && !interrupted; }
  /// Why it is not ok(), and the last lines of standard error: "exit code 3: no such model". Empty when ok().
  std::string failure() const;
};

/// Runs a command once, in a process group of its own, and waits for it. Its output never blocks it and never
/// takes more memory than asked for. When it ends, what is left of its group is killed; a daemon that left
/// the group is not waited for, even if it holds the pipes open. A time-out sends TERM to the whole group,
/// and KILL after the grace; when `is_interrupted` turns true (asked when a signal came, and a few times a
/// second), INT is sent first. In every case the child has been reaped and all descriptors are closed on
/// return. Throws Error when it cannot be started: missing, not executable, no such folder, input file or
/// output file. A command that fails is a result, not an error.
CommandResult run_command(const CommandSpec& spec, const std::function<bool()>& is_interrupted = {});

}  // namespace headroom
