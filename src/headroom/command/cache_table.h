// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/sheet.h"
#include "headroom/command/cache_run.h"

namespace headroom {

/// What `headroom cache` shows: what the cache is worth, and whether cold was cold; a row for each model
/// (cold, warm, speed-up with its interval), the geometric mean, what was cleared and what the layers held
/// before and after, and the models that failed.
Sheet cache_sheet(const CacheRequest& request, const CacheRun& run);

}  // namespace headroom
