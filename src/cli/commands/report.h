// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cli/shared/command.h"

namespace headroom::cli {

/// `headroom report`: results as a page for a browser.
ExitCode report(const Arguments& arguments);

}  // namespace headroom::cli
