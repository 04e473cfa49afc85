// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/console/command.h"

namespace headroom::cli {

/// `headroom report`: results as a page for a browser.
ExitCode report(const Arguments& arguments);

/// `headroom serve`: the history in a browser of this machine, as it is now.
ExitCode serve(const Arguments& arguments);

/// `headroom history --site FOLDER`: the history as pages.
ExitCode site(const Arguments& arguments);

}  // namespace headroom::cli
