// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// The PyTorch OSS benchmark database, schema v3: a JSON list with one object a line. Only measured records:
/// the database has no place for a case that was skipped or failed.
///
/// The dashboard shows floor(mean(benchmark_values), 2) of Float32 numbers, so benchmark_values holds one
/// robust value, times are in nanoseconds unless the metric's name fixes another unit, and the samples, the
/// interval and the unit are strings in metric.extra_info.
Format oss_v3_format();

}  // namespace headroom
