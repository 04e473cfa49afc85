// SPDX-License-Identifier: Apache-2.0
#include "cli/commands/time.h"

#include "cli/shared/command_plan.h"
#include "cli/shared/command_session.h"

namespace headroom::cli {

ExitCode time(const Arguments& arguments) {
  const CommandOptions options = parse_command_options(arguments, false);
  if (options.done) return *options.done;
  std::vector<std::string> command{"headroom", "time"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return measure_commands(plan_commands(options), options, command);
}

}  // namespace headroom::cli
