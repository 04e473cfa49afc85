// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "headroom/base/error.h"

namespace headroom::cli {

/// Set once Ctrl-C (or TERM, or HUP) came; a second one but HUP ends the program at once. Installs the
/// handlers when first called.
const std::atomic<bool>& interrupt_flag();

/// The same for commands that have children and temporary folders to see to: how many signals came (INT,
/// TERM, HUP). After the first one whoever waits has a bounded time to end; a second one asks for haste, and
/// none ends the program by itself. Installs the handlers when first called.
const std::atomic<int>& interrupt_count();

/// Whether a signal came that one of these handlers took. Installs none.
bool was_interrupted();

/// What is written to the terminal of standard error where a second signal ends the program at once: what a
/// command did to it is undone. nullptr: nothing. The text has to stay where it is.
void restore_terminal_with(const char* sequence);

/// Says on standard error that the user ended the command, and where what it measured is.
ExitCode tell_interrupted();

}  // namespace headroom::cli
