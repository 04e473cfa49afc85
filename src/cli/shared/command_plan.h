// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/shared/command_options.h"
#include "headroom/command/command_track.h"

namespace headroom::cli {

/// The commands that are compared with each other: several commands at one point of their parameters, or one
/// command at all its points. Throws Error: quotes that are not closed, as many hooks or names as fit
/// nothing, a parameter that nothing mentions, a program that is not there (unless a hook may make it).
std::vector<std::vector<PlannedCommand>> plan_commands(const CommandOptions& options);

}  // namespace headroom::cli
