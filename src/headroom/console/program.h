// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>

#include "headroom/console/command.h"
#include "headroom/console/completion.h"

namespace headroom::cli {

/// From this program's folder, the installation, or PATH; may be empty.
std::string find_program_of_ours(const std::string& name);

/// Forwards signals sent to this process; the program dies with it. Throws Error if it is missing, cannot be
/// started, or is killed by a signal.
ExitCode run_program(const std::string& name, const Arguments& arguments);

/// Opens closed standard streams and reports errors. Writes beyond the file-size limit fail; refuses a stack
/// limit below 1 MiB.
int exit_code_of(const std::function<ExitCode()>& program);

/// main() of headroom-trace and headroom-pages. The first argument selects one of several commands. Refuses a
/// headroom of another version.
int program_main(const char* name, std::span<const Command> commands, const ValueSource& values, int argc,
                 char** argv);

}  // namespace headroom::cli
