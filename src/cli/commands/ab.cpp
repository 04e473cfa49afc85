// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/ab.h"

#include <algorithm>

#include "cli/commands/run.h"
#include "cli/shared/command_plan.h"
#include "cli/shared/command_session.h"

namespace headroom::cli {
namespace {

bool names_runner(const std::string& argument) {
  return argument == "--runner" || argument.starts_with("--runner=");
}

}  // namespace

ExitCode ab(const Arguments& arguments) {
  // Builds of a runner are compared from within: that is what `headroom run` does with two of them.
  if (std::ranges::any_of(arguments, names_runner)) return run(arguments);
  const CommandOptions options = parse_command_options(arguments, true);
  if (options.done) return *options.done;
  std::vector<std::string> command{"headroom", "ab"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return measure_commands(plan_commands(options), options, command);
}

}  // namespace headroom::cli
