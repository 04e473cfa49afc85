// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "headroom/console/command.h"

namespace headroom::cli {

/// All commands, in the order of the help.
std::span<const Command> commands();

/// `headroom ARGUMENTS`.
ExitCode run_headroom(const Arguments& arguments);

/// How a command of another program is asked for its candidates or its man page.
Arguments asked_of_program(const Command& command, const char* action, const Arguments& words = {});

/// The arguments by which that program runs the command.
Arguments arguments_of_program(const Command& command, Arguments arguments);

/// `headroom run`: measures experiments against each other and against the limits of this machine.
ExitCode run(const Arguments& arguments);

}  // namespace headroom::cli
