// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

ExitCode ddp(const Arguments& arguments);

/// --collectives, which has options of its own.
std::vector<CommandWord> ddp_words();

}  // namespace headroom::cli
