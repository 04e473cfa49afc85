// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom trace diff A B`: joins kernels and ops of two traces, or of two jobs, by name and by place.
ExitCode trace_diff(const Arguments& arguments);

}  // namespace headroom::cli
