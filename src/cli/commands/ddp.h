// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/command.h"

namespace headroom::cli {

ExitCode ddp(const Arguments& arguments);

}  // namespace headroom::cli
