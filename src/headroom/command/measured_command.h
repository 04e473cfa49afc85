// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headroom/base/files.h"
#include "headroom/machine/perf_event.h"
#include "headroom/process/spawn.h"
#include "headroom/record/record.h"

namespace headroom {

struct CommandSpec {
  std::vector<std::string> arguments;  ///< program first; searched in PATH if it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to or replacing ours
  std::filesystem::path folder;                                  ///< working directory; empty: ours
  std::filesystem::path input;                                   ///< standard input; empty: none

  enum class Output { kDiscard, kFile, kCapture };
  Output output = Output::kDiscard;
  std::filesystem::path output_file;                  ///< for kFile; truncated first
  std::size_t capture_bytes = std::size_t{1} << 20U;  ///< for kCapture; the rest is dropped

  std::chrono::milliseconds timeout{-1};  ///< negative: none
  std::chrono::milliseconds grace{2000};  ///< between TERM and KILL
};

/// Returns {"/bin/sh", "-c", line}.
std::vector<std::string> shell_arguments(const std::string& line,
                                         std::vector<std::string> shell = {"/bin/sh"});

/// Times and counts are from wait4: the child and descendants it waited for.
struct CommandResult {
  ExitStatus status;
  bool timed_out = false;
  bool interrupted = false;

  double wall_ns = 0;  ///< start until the end was seen
  double user_ns = 0, system_ns = 0;
  /// Largest resident set of one process; at least the floor, as the kernel includes this program's memory at
  /// the fork.
  std::int64_t peak_rss_bytes = 0, peak_rss_floor_bytes = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;

  std::string output;       ///< for kCapture
  bool output_cut = false;  ///< for kCapture: truncated
  std::vector<std::string> error_lines;

  bool ok() const { return status.ok() && !timed_out && !interrupted; }
  /// "exit code 3: no such model"; empty if ok().
  std::string failure() const;
};

/// Runs in its own process group. Drains all output, then kills the rest of the group; does not wait for
/// daemons that left it, even with open pipes. A time-out sends TERM, then KILL; `is_interrupted` (called on
/// signals and a few times a second) sends INT first. On return the child is reaped and descriptors are
/// closed. Throws Error if it cannot be started; a failing command is a result.
CommandResult run_command(const CommandSpec& spec, const std::function<bool()>& is_interrupted = {});

std::span<const CounterEvent> hardware_events();

/// Counts events in this thread's next program, with descendants and threads; user space only if
/// perf_event_paranoid requires it. Never throws.
class ChildCounters {
 public:
  explicit ChildCounters(std::span<const CounterEvent> events = hardware_events());

  bool any() const { return events_.any(); }
  bool counts(std::string_view event) const;
  bool of_user_space() const { return events_.user_space; }
  /// Why the first event is not counted, or empty.
  const std::string& absence() const { return events_.absence; }

  /// Call before each start of a program.
  void start();
  /// Call after the program's end. Nothing for uncounted events; multiplexed counts are scaled to the whole
  /// time.
  std::vector<std::optional<double>> stop();

 private:
  CountableEvents events_;
  std::vector<Descriptor> counters_;  ///< closed if not counted
};

/// Finds processes left running (daemons, setsid) by an inherited environment variable. Misses those that
/// clear it or run as another user.
class LeftRunning {
 public:
  LeftRunning();

  std::pair<std::string, std::string> mark(std::size_t command) const;
  /// "left running: sleep (process 4711)", or empty. Takes milliseconds: reads all processes' environments.
  std::string note(std::size_t command) const;

 private:
  std::string session_;
};

struct MetricSource {
  enum class From {
    kWall,     ///< s
    kCpu,      ///< user and system time, s
    kPeakRss,  ///< largest resident set of one process, MiB
    kCsv,      ///< column of a CSV with one row
    kJson,
    kOutput  ///< regular-expression match
  };
  From from = From::kWall;
  std::string key;  ///< column name, JSON pointer, or POSIX extended expression
  std::string name;
  std::string unit;
  Direction direction = Direction::kLowerIsBetter;

  bool needs_document() const { return from == From::kCsv || from == From::kJson || from == From::kOutput; }
};

/// Parses "wall", "cpu", "rss", "csv:COLUMN", "json:/POINTER", "output:EXPRESSION". Throws Error.
MetricSource parse_metric(std::string_view text);

/// Throws Error if the key is invalid.
void check_metric(const MetricSource& source);

struct MetricDocument {
  std::string text;
  std::string name;     ///< for errors: "its standard output"
  bool is_cut = false;  ///< truncated
};

/// Returns a finite, non-negative number; else throws Error with the text found.
double read_metric(const MetricSource& source, const CommandResult& result, const MetricDocument& document);

}  // namespace headroom
