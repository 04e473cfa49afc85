// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "headroom/console/command.h"
#include "headroom/console/completion.h"

namespace headroom::cli {

/// The path of the program `name`: beside this one, in the folder of the installation, or in PATH. Empty
/// where it is in none of them.
std::string find_program_of_ours(const std::string& name);

/// Runs the program `name` (headroom-trace, headroom-pages) on our standard streams and returns its exit
/// code. Signals that only this process gets are passed on; should this process die, the program is killed.
/// Throws Error where the program is missing, cannot be started, or dies of a signal.
ExitCode run_program(const std::string& name, const Arguments& arguments);

/// main() of headroom-trace and headroom-pages. One command: the arguments are its own. Several: the first
/// argument names one. Refuses to be started by a headroom of another version.
int program_main(const char* name, std::span<const Command> commands, const ValueSource& values, int argc,
                 char** argv);

/// A man page (roff, section 1) of a command, of the table that makes its --help.
std::string man_page(const Command& command);

/// The man page of headroom itself, which lists its commands.
std::string man_page(std::span<const Command> commands);

}  // namespace headroom::cli
