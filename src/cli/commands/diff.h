// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom diff`: compares measurements, and gates on the answer.
ExitCode diff(const Arguments& arguments);

}  // namespace headroom::cli
