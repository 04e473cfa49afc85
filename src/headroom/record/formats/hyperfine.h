// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// What hyperfine writes with --export-json (read).
Format hyperfine_format();

}  // namespace headroom
