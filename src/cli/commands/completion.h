// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

ExitCode completion(const Arguments& arguments);

/// bash, zsh, fish, candidates.
std::vector<CommandWord> completion_words();

}  // namespace headroom::cli
