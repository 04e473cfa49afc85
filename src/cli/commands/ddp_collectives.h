// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom ddp --collectives`: collectives over a sweep of sizes.
ExitCode collectives(const Arguments& arguments);

}  // namespace headroom::cli
