// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom time`.
ExitCode time(const Arguments& arguments);

}  // namespace headroom::cli
