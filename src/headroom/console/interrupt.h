// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "headroom/base/error.h"

namespace headroom::cli {

/// Set by INT, TERM or HUP; a second INT or TERM ends the program at once. The first call installs the
/// handlers.
const std::atomic<bool>& interrupt_flag();

/// Number of signals (INT, TERM, HUP), for commands that must clean up: the first asks to end in bounded
/// time, the second to hurry; none ends the program. The first call installs the handlers.
const std::atomic<int>& interrupt_count();

/// Whether one of these handlers took a signal.
bool was_interrupted();

/// What is written to the terminal of standard error where a second signal ends the program at once: what a
/// command did to it is undone. nullptr: nothing. The text has to stay where it is.
void restore_terminal_with(const char* sequence);

/// Prints that the command was interrupted, and where its results are.
ExitCode tell_interrupted();

}  // namespace headroom::cli
