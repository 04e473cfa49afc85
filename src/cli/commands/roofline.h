// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom roofline`: plots the cases of a run under the roofs of the machine that ran them.
ExitCode roofline(const Arguments& arguments);

}  // namespace headroom::cli
