// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "headroom/base/error.h"

namespace headroom::cli {

/// Set by INT, TERM or HUP; a second INT or TERM ends the program at once. The first call installs the
/// handlers.
const std::atomic<bool>& interrupt_flag();

/// Number of signals (INT, TERM, HUP), for commands that must clean up: the first asks to end in bounded
/// time, the second to hurry. The first call installs the handlers.
const std::atomic<int>& interrupt_count();

/// Whether one of these handlers took a signal.
bool was_interrupted();

/// Sets the sequence to write to standard error's terminal if a second signal ends the program; nullptr:
/// none. Keeps the pointer.
void restore_terminal_with(const char* sequence);

/// Prints that the command was interrupted, and where its results are.
ExitCode report_interrupted();

/// Calls `write`, which writes a file at its end. An Error of an interrupted one is reported as "interrupted;
/// nothing was written".
ExitCode unless_interrupted(const std::function<ExitCode()>& write);

}  // namespace headroom::cli
