// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom run`: measures experiments and says how much headroom is left.
ExitCode run(const Arguments& arguments);

}  // namespace headroom::cli
