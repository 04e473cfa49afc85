// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/shared/command.h"
#include "cli/shared/command_options.h"
#include "headroom/command/command_track.h"

namespace headroom::cli {

/// Measures the groups of commands, prints the table, writes the files and the history. `command` is what the
/// user typed, for the record.
ExitCode measure_commands(const std::vector<std::vector<PlannedCommand>>& groups,
                          const CommandOptions& options, const std::vector<std::string>& command);

}  // namespace headroom::cli
