// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom trace`.
ExitCode trace(const Arguments& arguments);

/// Analyses, diff, convert.
std::vector<CommandWord> trace_words();

}  // namespace headroom::cli
