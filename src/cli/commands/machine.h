// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom machine`: shows what this machine is and how fast it can be.
ExitCode machine(const Arguments& arguments);

}  // namespace headroom::cli
