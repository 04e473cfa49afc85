// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/command/cache_run.h"

namespace headroom {

/// What was asked for and what was measured, as far as it is shown.
struct ShownCacheRun {
  CacheRequest request;
  CacheRun run;
};

/// All that cache_sheet() needs of them, which records do not hold: every pair's layers; JSON on one line,
/// which the environment of the records has as kCacheRunKey.
std::string cache_run_json(const CacheRequest& request, const CacheRun& run);

/// The reverse. Throws Error where the text is not of cache_run_json(): `source` names it.
ShownCacheRun cache_run_from_json(const std::string& text, const std::string& source);

}  // namespace headroom
