// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom dispatch`: what a distributed tensor adds to operators, over ranks.
ExitCode dispatch(const Arguments& arguments);

}  // namespace headroom::cli
