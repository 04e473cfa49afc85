// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/console/command.h"

namespace headroom::cli {

/// `headroom report`.
ExitCode report(const Arguments& arguments);

/// `headroom serve`.
ExitCode serve(const Arguments& arguments);

/// `headroom history --site FOLDER`.
ExitCode site(const Arguments& arguments);

}  // namespace headroom::cli
