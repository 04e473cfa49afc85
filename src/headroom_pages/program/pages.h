// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/console/command.h"

namespace headroom::cli {

/// `headroom report`.
OptionTable report_options(Arguments& arguments);

/// `headroom serve`.
OptionTable serve_options(Arguments& arguments);

/// `headroom history --site FOLDER`.
OptionTable site_options(Arguments& arguments);

}  // namespace headroom::cli
