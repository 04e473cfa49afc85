// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace headroom::cli {

/// `headroom trace`.
ExitCode trace(const Arguments& arguments);

}  // namespace headroom::cli
