// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom history`: what was measured before, and where it changed.
ExitCode history(const Arguments& arguments);

/// export, import, prune, repair, verify.
std::vector<CommandWord> history_words();

}  // namespace headroom::cli
