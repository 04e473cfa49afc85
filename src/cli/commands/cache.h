// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom cache`: commands with cold caches against the same with warm ones.
ExitCode cache(const Arguments& arguments);

}  // namespace headroom::cli
