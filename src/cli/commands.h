// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "headroom/console/command.h"

namespace headroom::cli {

/// In the order of the help.
std::span<const Command> commands();

/// Runs `headroom ARGUMENTS`.
ExitCode run_headroom(const Arguments& given);

/// Returns the arguments that ask another program for candidates or a man page.
Arguments query_arguments(const Command& command, const char* action, const Arguments& words = {});

/// Returns the arguments with which that program runs the command.
Arguments program_arguments(const Command& command, Arguments arguments);

OptionTable run_options(Arguments& arguments);

}  // namespace headroom::cli
