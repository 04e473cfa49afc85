// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/exit_code.h"

namespace headroom::cli {

/// Opens /dev/null in place of each standard stream that is closed: a file that is opened later would have
/// its number, and what is meant for the terminal would be written into it.
void open_closed_streams();

/// `code`; kCannot, said on standard error, where not all that was printed to standard output could be
/// written. The last thing that a program does.
ExitCode after_output(ExitCode code);

}  // namespace headroom::cli
