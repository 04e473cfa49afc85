// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/console/command.h"

namespace headroom::cli {

OptionTable report_options(Arguments& arguments);

OptionTable serve_options(Arguments& arguments);

OptionTable site_options(Arguments& arguments);

}  // namespace headroom::cli
