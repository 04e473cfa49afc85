// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom trace convert IN OUT`: a clean Chrome trace, or its events as CSV.
ExitCode trace_convert(const Arguments& arguments);

}  // namespace headroom::cli
