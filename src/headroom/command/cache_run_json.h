// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "headroom/command/cache_run.h"

namespace headroom {

/// Where the environment of the records of a cache run has it, as JSON on one line (cache_run_json).
inline constexpr const char* kCacheRunKey = "cache_run";

/// What was asked for and what was measured, as far as it is shown.
struct ShownCacheRun {
  CacheRequest request;
  CacheRun run;
};

/// All that cache_sheet() needs of them, which records do not hold: every pair's layers.
std::string cache_run_json(const CacheRequest& request, const CacheRun& run);

/// The reverse. Throws Error where the text is not of cache_run_json(): `source` names it.
ShownCacheRun cache_run_from_json(const std::string& text, const std::string& source);

}  // namespace headroom
