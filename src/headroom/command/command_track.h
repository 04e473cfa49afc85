// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "headroom/command/measured_command.h"
#include "headroom/record/record.h"
#include "headroom/stats/round_ratio.h"
#include "headroom/stats/series.h"
#include "headroom/stats/stopping.h"

namespace headroom {

/// A command among those that are compared. The hooks are lines for /bin/sh, empty for none; their time is
/// not measured.
struct PlannedCommand {
  std::string name;   ///< by which records are matched: {placeholders} as given
  std::string title;  ///< what a person calls it: placeholders filled
  std::string line;   ///< as it is run, for the record
  AxisTexts parameters;
  CommandSpec spec;
  std::string setup, cleanup;     ///< before the first and after the last run of all
  std::string prepare, conclude;  ///< before and after each run
};

/// One run of one command.
struct CommandSample {
  std::uint32_t round = 0;
  int exit_code = 0;  ///< minus the number of the signal that ended it
  double wall_ns = 0, user_ns = 0, system_ns = 0;
  double steal_ms = 0;  ///< that the hypervisor gave to others meanwhile, all CPUs
  std::int64_t peak_rss_bytes = 0;
  std::int64_t page_faults = 0, major_faults = 0;
  std::int64_t context_switches = 0, involuntary_switches = 0;
  std::vector<std::optional<double>>
      counters;  ///< as hardware_events() has them; empty where none is counted
};

/// A command and everything that it gave.
struct CommandTrack {
  PlannedCommand planned;
  Outcome outcome;  ///< kMeasured while it can be run
  std::vector<CommandSample> samples;
  std::int64_t peak_rss_floor_bytes = 0;  ///< peaks at or below it mean "at most"
  std::vector<std::string> notes;

  bool alive() const { return outcome.kind == Outcome::Kind::kMeasured; }
};

/// Everything that the rounds of compared commands gave. The first command is what the others are compared
/// with.
struct CommandGroup {
  std::vector<CommandTrack> commands;
  StopReason stop = StopReason::kNone;
  Look look = Look::kLast;  ///< how the ratios may be judged: what is there was chosen by them, or was not
  bool as_many_as_asked = false;  ///< of a number of runs that was to be exactly that
};

/// How many leading samples are warm-up by the trend of their wall times.
std::size_t warmup_of(const CommandTrack& track);

/// Wall times in ns after the warm-up.
Series steady_series(const CommandTrack& track);

/// Time of the one over that of the other, over the rounds that both have. Nothing where they share none.
std::optional<RoundRatio> round_ratio(const CommandTrack& test, const CommandTrack& baseline, Look look);

}  // namespace headroom
