// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/command/cache_run.h"

namespace headroom {

/// What `headroom cache` prints: a row for each model (cold, warm, speed-up with its interval), the geometric
/// mean, what was cleared and what the layers held before and after, and the models that failed.
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string cache_report(const CacheRequest& request, const CacheRun& run, std::size_t width = 0);

}  // namespace headroom
