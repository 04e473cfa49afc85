// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
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

/// The exit code of main(): runs the program with its standard streams open and says why it failed. A limit
/// on the size of files makes a write fail; one on the stack below 1 MiB is refused.
int exit_code_of(const std::function<ExitCode()>& program);

/// main() of headroom-trace and headroom-pages. One command: the arguments are its own. Several: the first
/// argument names one. Refuses to be started by a headroom of another version.
int program_main(const char* name, std::span<const Command> commands, const ValueSource& values, int argc,
                 char** argv);

}  // namespace headroom::cli
