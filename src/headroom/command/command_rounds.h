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
#include "headroom/stats/compare.h"
#include "headroom/stats/round_ratio.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// A compared command. Hooks are lines for /bin/sh, empty for none; their time is not measured.
struct PlannedCommand {
  std::string name;   ///< key of its records, with {placeholders} unfilled
  std::string title;  ///< display name, placeholders filled
  std::string line;   ///< as run, for the record
  AxisTexts parameters;
  CommandSpec spec;
  std::string setup, cleanup;     ///< before the first and after the last run
  std::string prepare, conclude;  ///< before and after each run
};

/// One run of one command.
struct CommandSample {
  std::uint32_t round = 0;
  int exit_code = 0;  ///< negative signal number if a signal ended it
  double wall_ns = 0, user_ns = 0, system_ns = 0;
  double steal_ms = 0;  ///< steal time of all CPUs during the run
  std::int64_t peak_rss_bytes = 0;
  std::int64_t page_faults = 0, major_faults = 0;
  std::int64_t context_switches = 0, involuntary_switches = 0;
  std::vector<std::optional<double>>
      counters;  ///< in the order of hardware_events(); empty if nothing is counted
};

/// A command with all its samples.
struct CommandTrack {
  PlannedCommand planned;
  Outcome outcome;  ///< kMeasured while the command can be run
  std::vector<CommandSample> samples;
  std::int64_t peak_rss_floor_bytes = 0;  ///< peaks at or below it mean "at most"
  Notes notes;

  bool alive() const { return outcome.kind == Outcome::Kind::kMeasured; }
};

/// The result of the rounds of compared commands. The first command is the baseline.
struct CommandGroup {
  std::vector<CommandTrack> commands;
  StopReason stop = StopReason::kNone;
  Look look = Look::kLast;        ///< how to judge the ratios: whether the stop depended on them
  bool as_many_as_asked = false;  ///< the exact number of runs was requested
};

/// Returns the number of leading warm-up samples by the trend of the wall times.
std::size_t warmup_of(const CommandTrack& track);

/// Returns the wall times in ns after the warm-up.
Series steady_series(const CommandTrack& track);

/// Returns the time of `test` over `baseline` in common rounds, or nothing without common rounds.
std::optional<RoundRatio> round_ratio(const CommandTrack& test, const CommandTrack& baseline, Look look);

/// Progress of the rounds.
struct CommandProgress {
  std::string command;  ///< running now
  std::uint32_t rounds = 0;
  double elapsed_ns = 0;
  double median_ns = 0;              ///< of the first command's last runs
  std::optional<double> half_width;  ///< widest relative half-width, compared with the precision goal
};

/// Settings for the rounds.
struct CommandRoundSettings {
  StopRule stop;
  /// If above 0 without an explicit goal: differences up to it do not count, and sampling goes on until each
  /// command is decided against the first, or a cap is reached.
  double margin = 0;
  std::size_t min_rounds = 6;   ///< also after the cap on time: a 95 % interval of a median needs six; twice
                                ///< as many where warm-up leaves fewer than that
  bool exact_rounds = false;    ///< StopRule::max_samples is the goal, not a cap
  bool ignore_failure = false;  ///< keep failed runs as samples
  bool random_environment = true;                               ///< vary the environment size per round
  std::uint64_t seed = 1;                                       ///< of order and sizes
  std::function<bool()> is_interrupted = [] { return false; };  ///< stop starting runs
  std::function<bool()> is_hurried = [] { return false; };      ///< skip conclude and cleanup, too
  std::function<CommandResult(const CommandSpec&, const std::function<bool()>&)> run = run_command;
  std::function<double()> now_ns;  ///< clock for the caps
  /// No run is begun after it, however few rounds there are; a command without one is skipped for this
  /// reason.
  double end_ns = std::numeric_limits<double>::infinity();
  std::string out_of_time{};
  /// Called after each round.
  std::function<void(const CommandGroup&)> on_round = [](const CommandGroup&) {};
};

/// Runs commands in rounds: each once, in a new random order every round, exactly one at any time, until the
/// widest interval of a ratio to the first command (of the median, where there is but one) is as narrow as
/// asked. With a margin the goal is half of that at most, which no undecided interval can have, unless every
/// command is told apart before: that is looked for at any moment (Look::kRunning). All setups come before
/// the first round, all cleanups after the last; lines that several commands share are run once. A command
/// that fails is marked, and the others go on. What a command left running is in its notes.
///
/// Each round gives every command the same environment plus a variable of a random size (HEADROOM_PADDING, 0
/// to 4 KiB): where the stack begins changes the speed of some programs by percents, and one fixed place
/// would be taken for the truth (Mytkowicz et al., ASPLOS 2009).
class CommandRounds {
 public:
  CommandRounds(std::vector<PlannedCommand> commands, CommandRoundSettings settings, ChildCounters& counters,
                std::function<void(const CommandProgress&)> report);

  /// After an interrupt returns what there is; the run that was cut short is not a sample.
  CommandGroup run();

 private:
  void setup_all();
  void cleanup_all();
  void note_left_running();
  std::size_t number_of(const CommandTrack& track) const;
  bool is_late() const { return settings_.now_ns() >= settings_.end_ns; }
  void mark_out_of_time();
  void sample_round();
  void sample(CommandTrack& track, const CommandSpec& spec);
  void keep(CommandTrack& track, const CommandResult& result, std::vector<std::optional<double>> counts);
  void watch_noise();
  double steal_ms();
  struct Hook {
    const char* name;
    const std::string& line;
  };
  /// Returns false if the hook failed (the command is then marked) or was interrupted.
  bool run_hook(CommandTrack& track, const Hook& hook, const std::function<bool()>& give_up);
  bool should_end();
  std::optional<StopReason> reason_to_end(const StopState& state);
  bool is_long_decided(const StopState& state) const;
  std::optional<double> worst_half_width() const;
  std::vector<const CommandTrack*> compared() const;
  bool decided() const;
  bool any_alive() const;
  void announce(const std::string& command);

  CommandRoundSettings settings_;
  ChildCounters& counters_;
  NoiseMeter noise_;
  double noise_since_ns_ = 0;
  std::function<void(const CommandProgress&)> report_;
  CommandGroup group_;
  LeftRunning left_running_;
  CommandProgress progress_;
  Stopping stopping_;  ///< for the requested goal
  Stopping deciding_;  ///< for the goal that decides every comparison
  std::mt19937_64 random_;
  std::uint32_t round_ = 0;
  std::size_t next_look_ = 0;
  double started_ns_ = 0;
  bool interrupted_ = false;
};

}  // namespace headroom
