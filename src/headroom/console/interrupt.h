// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>

#include "headroom/base/error.h"

namespace headroom::cli {

/// Set by INT, TERM or HUP; a second INT or TERM ends the program at once. Installs the handlers.
const std::atomic<bool>& interrupt_flag();

/// Number of signals (INT, TERM, HUP), for commands that must clean up: the first asks to end in bounded
/// time, the second to hurry. Installs the handlers.
const std::atomic<int>& interrupt_count();

/// Whether these handlers took a signal.
bool was_interrupted();

/// Sequence for standard error's terminal if a second signal ends the program; nullptr: none. Keeps the
/// pointer.
void restore_terminal_with(const char* sequence);

/// Says where the results are.
ExitCode report_interrupted();

/// Calls `write`, which writes a file at its end. Reports an Error of an interrupted one as "interrupted;
/// nothing was written".
ExitCode unless_interrupted(const std::function<ExitCode()>& write);

}  // namespace headroom::cli
