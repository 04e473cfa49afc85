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

/// A program to run once.
struct CommandSpec {
  std::vector<std::string> arguments;  ///< the program first; searched in PATH if it has no slash
  std::vector<std::pair<std::string, std::string>> environment;  ///< added to ours, or replacing it
  std::filesystem::path folder;                                  ///< working directory; empty: ours
  std::filesystem::path input;                                   ///< standard input; empty: nothing to read

  enum class Output { kDiscard, kFile, kCapture };
  Output output = Output::kDiscard;
  std::filesystem::path output_file;                  ///< for kFile; truncated first
  std::size_t capture_bytes = std::size_t{1} << 20U;  ///< for kCapture; the rest is read and dropped

  std::chrono::milliseconds timeout{-1};  ///< negative: no time-out
  std::chrono::milliseconds grace{2000};  ///< between TERM and KILL
};

/// The arguments that make `shell`, a program with its options, run `line`: {"/bin/sh", "-c", line}.
std::vector<std::string> shell_arguments(const std::string& line,
                                         std::vector<std::string> shell = {"/bin/sh"});

/// The result of one run. Times and counts come from wait4: this child and the descendants that it waited
/// for, not processes left behind.
struct CommandResult {
  ExitStatus status;
  bool timed_out = false;
  bool interrupted = false;

  double wall_ns = 0;  ///< from just before the start until its end was seen
  double user_ns = 0, system_ns = 0;
  /// Largest resident set of any one process. The kernel includes the memory of this program at the start of
  /// the child, so it is at least `peak_rss_floor_bytes`; equal means "at most".
  std::int64_t peak_rss_bytes = 0, peak_rss_floor_bytes = 0;
  std::int64_t minor_faults = 0, major_faults = 0;
  std::int64_t voluntary_switches = 0, involuntary_switches = 0;

  std::string output;                    ///< for kCapture: the first bytes
  bool output_cut = false;               ///< for kCapture: there was more
  std::vector<std::string> error_lines;  ///< the last lines of standard error

  bool ok() const { return status.ok() && !timed_out && !interrupted; }
  /// Returns the reason and the last lines of standard error: "exit code 3: no such model". Empty if ok().
  std::string failure() const;
};

/// Runs a command once in its own process group and waits for it. Output never blocks it and is stored up to
/// the requested size. Afterwards kills the rest of the group; a daemon that left the group is not waited
/// for, even if it holds the pipes open. A time-out sends TERM to the group, and KILL after the grace;
/// `is_interrupted` (checked on signals and a few times a second) sends INT first. On return the child is
/// reaped and all descriptors are closed. Throws Error if it cannot be started: missing, not executable, no
/// such folder, input or output file. A failing command is a result, not an error.
CommandResult run_command(const CommandSpec& spec, const std::function<bool()>& is_interrupted = {});

/// instructions, cycles, cache_misses, branch_misses, as named in tables and records.
std::span<const CounterEvent> hardware_events();

/// Counts events in the next program that this thread starts, from its exec on, with descendants and threads.
/// If the kernel restricts it (perf_event_paranoid), counts user space only: of_user_space(). Never throws:
/// virtual machines often count nothing.
class ChildCounters {
 public:
  /// Finds out what can be counted here.
  explicit ChildCounters(std::span<const CounterEvent> events = hardware_events());

  bool any() const;
  bool of_user_space() const { return user_space_; }
  /// The kernel's reason for the first event that is not counted; empty if all are.
  const std::string& absence() const { return absence_; }

  /// Call before each start of a program.
  void start();
  /// Returns the count of each event in the program started since start(), which must have ended; nothing for
  /// events not counted. With more events than hardware counters the kernel multiplexes, and counts are
  /// scaled to the whole time.
  std::vector<std::optional<double>> stop();

 private:
  struct Counter {
    CounterEvent event;
    bool available = false;
    Descriptor file;
  };

  std::vector<Counter> counters_;
  bool user_space_ = false;
  std::string absence_;
};

/// Finds processes that commands leave running after their process group was ended, such as daemons and
/// setsid children, by an inherited environment variable. Misses processes that clear their environment or
/// run as another user.
class LeftRunning {
 public:
  LeftRunning();

  /// The variable for a command, by number.
  std::pair<std::string, std::string> mark(std::size_t command) const;
  /// "left running: sleep (process 4711)"; empty if nothing is. Reads the environment of every process of
  /// this user, which takes a few milliseconds.
  std::string note(std::size_t command) const;

 private:
  std::string session_;
};

/// The number of a run that is the measurement.
struct MetricSource {
  enum class From {
    kWall,     ///< time from start to end, s
    kCpu,      ///< user and system time, s
    kPeakRss,  ///< largest resident set of one process, MiB
    kCsv,      ///< a column of a CSV with one row of values
    kJson,     ///< a place in a JSON document
    kOutput    ///< a regular-expression match in the output
  };
  From from = From::kWall;
  std::string key;   ///< column name, JSON pointer, or POSIX extended expression
  std::string name;  ///< "compile time"
  std::string unit;  ///< "s"
  Direction direction = Direction::kLowerIsBetter;

  /// Whether the number comes from the command's output, not from the kernel's accounting.
  bool needs_document() const { return from == From::kCsv || from == From::kJson || from == From::kOutput; }
};

/// Parses "wall", "cpu", "rss", "csv:COLUMN", "json:/POINTER" or "output:EXPRESSION", with the usual names
/// and units (none for output). Throws Error.
MetricSource parse_metric(std::string_view text);

/// Throws Error if the key (column, pointer, expression) is invalid.
void check_metric(const MetricSource& source);

/// The output of a run and its name in errors.
struct MetricDocument {
  std::string text;
  std::string name;     ///< "its standard output", "the file {output}"
  bool is_cut = false;  ///< there was more
};

/// Returns the number of a run, finite and not negative. Throws Error with what was found instead: no such
/// column, no or several rows, text, no such place, no match.
double read_metric(const MetricSource& source, const CommandResult& result, const MetricDocument& document);

}  // namespace headroom
