// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom trace merge FILE... -o OUT`: the traces of the ranks of a job as one, with aligned clocks.
ExitCode trace_merge(const Arguments& arguments);

}  // namespace headroom::cli
