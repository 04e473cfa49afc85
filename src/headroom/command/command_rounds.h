// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "headroom/command/command_track.h"
#include "headroom/command/hardware_counters.h"
#include "headroom/command/left_running.h"
#include "headroom/command/measured_command.h"
#include "headroom/machine/noise.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// Where the rounds are, for whoever shows it.
struct CommandProgress {
  std::string command;  ///< that runs now
  std::uint32_t rounds = 0;
  double elapsed_ns = 0;
  double median_ns = 0;              ///< of the first command's last runs, once there are some
  std::optional<double> half_width;  ///< the widest, as a share: what the precision goal is held against
};

/// How the rounds are run.
struct CommandRoundSettings {
  StopRule stop;
  /// Above 0, with a goal that nobody asked for: a difference up to it is none, and sampling goes on until
  /// each command is told from the first, or is the same, or a cap is reached.
  double margin = 0;
  std::size_t min_rounds = 6;   ///< also after the cap on time: a 95 % interval of a median needs six; twice
                                ///< as many where warm-up leaves fewer than that
  bool exact_rounds = false;    ///< as many rounds as StopRule::max_samples are the goal, not a cap
  bool ignore_failure = false;  ///< a run that fails is a sample, too
  bool random_environment = true;  ///< an environment of another size in each round
  std::uint64_t seed = 1;          ///< of the order and the sizes
  std::function<bool()> is_interrupted = [] { return false; };  ///< no more runs
  std::function<bool()> is_hurried = [] { return false; };      ///< nor conclude and cleanup
  std::function<CommandResult(const CommandSpec&, const std::function<bool()>&)> run = run_command;
  std::function<double()> now_ns;  ///< the clock of the caps
  /// Called when a round is over, before the next one begins.
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

  /// After an interrupt it gives what there is; the run that was cut short is no sample.
  CommandGroup run();

 private:
  void setup_all();
  void cleanup_all();
  void note_left_running();
  std::size_t number_of(const CommandTrack& track) const;
  void sample_round();
  void sample(CommandTrack& track, const CommandSpec& spec);
  void keep(CommandTrack& track, const CommandResult& result, std::vector<std::optional<double>> counts);
  void watch_noise();
  double steal_ms();
  struct Hook {
    const char* name;
    const std::string& line;
  };
  /// False where it failed, and the command is then marked, or was interrupted.
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
  Stopping stopping_;  ///< at the goal that was asked for
  Stopping deciding_;  ///< at one that leaves nothing undecided
  std::mt19937_64 random_;
  std::uint32_t round_ = 0;
  std::size_t next_look_ = 0;
  double started_ns_ = 0;
  bool interrupted_ = false;
};

}  // namespace headroom
