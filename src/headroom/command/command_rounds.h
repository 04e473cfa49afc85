// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headroom/command/measured_command.h"
#include "headroom/machine/noise.h"
#include "headroom/record/record.h"
#include "headroom/schedule/group_run.h"
#include "headroom/schedule/runner.h"
#include "headroom/schedule/track.h"
#include "headroom/stats/round_ratio.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// Hooks are /bin/sh lines, untimed; may be empty.
struct PlannedCommand {
  std::string name;   ///< key of its records; {placeholders} unfilled
  std::string title;  ///< display name; placeholders filled
  std::string line;
  AxisTexts parameters;
  CommandSpec spec;
  std::string setup, cleanup;     ///< before the first, after the last run
  std::string prepare, conclude;  ///< before, after each run
};

/// Columns of a command's readings. Those of hardware_events() follow.
enum CommandColumn : std::size_t {
  kUserTime,    ///< s
  kSystemTime,  ///< s
  kPeakMemory,  ///< bytes
  kPageFaults,
  kMajorFaults,
  kContextSwitches,
  kInvoluntarySwitches,
  kExitCode,   ///< negative signal number if signalled
  kPeakFloor,  ///< bytes; a peak up to it is an upper bound
  kFirstCounter
};
/// In the column of an event.
inline constexpr double kUncounted = -1;

/// A case for the results of a command, without readings.
Track command_track(const PlannedCommand& command);

/// Nothing without common rounds.
std::optional<RoundRatio> round_ratio(const Track& test, const Track& baseline, Look look);

struct CommandRoundSettings {
  StopRule stop;
  /// Above 0 without an explicit goal: sampling decides each command against the first.
  double margin = 0;
  /// Decide only whether a command is slower than the first by more than `margin`, then end.
  bool is_gate = false;
  std::size_t min_rounds = 6;  ///< also after the time cap; doubled if warm-up leaves too few for an interval
  bool exact_rounds = false;   ///< max_samples is a goal, not a cap
  bool ignore_failure = false;  ///< failed runs are samples
  bool random_environment = true;
  std::uint64_t seed = 1;                                       ///< of order and environment sizes
  std::function<bool()> is_interrupted = [] { return false; };  ///< stop starting runs
  std::function<bool()> is_hurried = [] { return false; };      ///< skip conclude and cleanup, too
  std::function<CommandResult(const CommandSpec&, const std::function<bool()>&)> run = run_command;
  std::function<double()> now_ns = steady_now_ns;
  /// No run starts after it; commands without samples are skipped for `out_of_time`.
  double end_ns = std::numeric_limits<double>::infinity();
  std::string out_of_time{};
  std::function<void(const GroupResult&)> on_round = [](const GroupResult&) {};
};

/// Runs each command once per round, in random order, until the widest interval of a ratio to the first (a
/// single command: of its median) meets the goal. With a margin the goal is at most half the margin, or an
/// earlier decision of every comparison (Look::kRunning). Setups precede the first round, cleanups follow the
/// last; shared hook lines run once. A failing command is marked; others go on.
///
/// An environment variable of random size per round (HEADROOM_PADDING, 0 to 4 KiB) varies the stack's
/// position, which changes some programs' speed by percents (Mytkowicz et al., ASPLOS 2009).
class CommandRounds {
 public:
  CommandRounds(std::vector<PlannedCommand> commands, CommandRoundSettings settings, ChildCounters& counters,
                std::function<void(const Progress&)> report);

  /// The first command is the baseline. Drops an interrupted run.
  GroupResult run();

 private:
  void setup_all();
  void cleanup_all();
  void note_left_running();
  bool is_late() const { return settings_.now_ns() >= settings_.end_ns; }
  void mark_out_of_time();
  void sample_round();
  void sample(std::size_t index, const CommandSpec& spec);
  void keep(Track& track, const CommandResult& result, const std::vector<std::optional<double>>& counts);
  void watch_noise();
  double steal_ms();
  struct Hook {
    const char* name;
    const std::string& line;
  };
  /// False if the hook failed (marks the command) or was interrupted.
  bool run_hook(std::size_t index, const Hook& hook, const std::function<bool()>& give_up);
  /// Shows the progress meanwhile.
  CommandResult run(const CommandSpec& spec, const std::function<bool()>& give_up);
  bool should_end();
  std::optional<StopReason> stop_reason(const StopState& state);
  bool may_stop_early(const StopState& state) const;
  std::optional<double> worst_half_width() const;
  std::vector<const Track*> compared() const;
  bool decided() const;
  bool any_alive() const;
  void announce();

  std::vector<PlannedCommand> commands_;
  CommandRoundSettings settings_;
  ChildCounters& counters_;
  NoiseMeter noise_;
  double noise_since_ns_ = 0;
  std::function<void(const Progress&)> report_;
  GroupResult group_;
  LeftRunning left_running_;
  Progress progress_;
  Stopping stopping_;
  Stopping deciding_;  ///< goal that decides every comparison
  std::mt19937_64 random_;
  std::uint32_t round_ = 0;
  std::size_t next_look_ = 0;
  double started_ns_ = 0;
  bool interrupted_ = false;
};

}  // namespace headroom
