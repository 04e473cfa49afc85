// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom serve`: the history in a browser of this machine, as it is now.
ExitCode serve(const Arguments& arguments);

}  // namespace headroom::cli
