// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "headroom/command/command_rounds.h"

namespace headroom {

/// Commands that only cost time on a clock of their own: the first word of the arguments says which one.
struct FakeCommands {
  std::function<double(const std::string& name)> wall_ns = [](const std::string&) { return 1e6; };
  std::function<ExitStatus(const std::string& name)> status = [](const std::string&) { return ExitStatus{}; };
  double now_ns = 0;
  std::vector<std::string> calls;     ///< names, or "hook: line"
  std::vector<std::size_t> paddings;  ///< of each run

  CommandResult run(const CommandSpec& spec, const std::function<bool()>& is_interrupted) {
    CommandResult result;
    result.interrupted = is_interrupted();
    if (spec.arguments.front() == "/bin/sh") {
      calls.push_back("hook: " + spec.arguments.back());
      result.status = status(spec.arguments.back());
      return result;
    }
    const std::string& name = spec.arguments.front();
    calls.push_back(name);
    for (const auto& [variable, value] : spec.environment) {
      if (variable == "HEADROOM_PADDING") paddings.push_back(value.size());
    }
    result.status = status(name);
    result.wall_ns = wall_ns(name);
    result.user_ns = result.wall_ns / 2;
    result.peak_rss_bytes = 5 << 20;
    now_ns += result.wall_ns;
    return result;
  }

  CommandRoundSettings settings() {
    CommandRoundSettings settings;
    settings.run = [this](const auto& spec, const auto& interrupted) { return run(spec, interrupted); };
    settings.now_ns = [this] { return now_ns; };
    return settings;
  }

  CommandGroup measure(const std::vector<std::string>& names, const CommandRoundSettings& settings) {
    std::vector<PlannedCommand> commands;
    for (const std::string& name : names) commands.push_back(command(name));
    return measure_planned(std::move(commands), settings);
  }
  CommandGroup measure_planned(std::vector<PlannedCommand> commands, const CommandRoundSettings& settings) {
    ChildCounters counters(std::span<const CounterEvent>{});
    return CommandRounds(std::move(commands), settings, counters, [](const CommandProgress&) {}).run();
  }

  static PlannedCommand command(const std::string& name) {
    PlannedCommand planned;
    planned.name = planned.title = planned.line = name;
    planned.spec.arguments = {name};
    return planned;
  }
};

}  // namespace headroom
