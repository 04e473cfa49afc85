// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom ab`.
ExitCode ab(const Arguments& arguments);

}  // namespace headroom::cli
