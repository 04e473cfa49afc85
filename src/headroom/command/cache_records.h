// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headroom/command/cache_run.h"
#include "headroom/record/record.h"

namespace headroom {

/// The records of a run: for each model the cold and the warm metric and "speedup" (cold over warm of each
/// pair), the second warm run where there is one, and the geometric mean over the suite. Rounds are pairs.
/// What every layer held is in metric.extra_info ("layer.ccache"). A model that failed has one record that
/// says so.
std::vector<Record> cache_records(const CacheRequest& request, const CacheRun& run,
                                  std::shared_ptr<const Environment> environment);

/// What PyTorch's cachebench.py writes: a list of records, three a model: cold values, warm values, speed-up
/// in percent. Models without a full result are left out; an empty string where none is left, as it then
/// writes no file.
std::string cachebench_json(const CacheRequest& request, const CacheRun& run);

/// "Cold compile time (s)".
std::string phase_metric(const char* phase, const MetricSource& metric);

}  // namespace headroom
