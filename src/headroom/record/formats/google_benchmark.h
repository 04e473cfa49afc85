// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// What Google Benchmark writes with --benchmark_out_format=json (read). Its own aggregates are left out:
/// they are no measurements. The repetitions of a run are samples; user counters are records of their own.
Format google_benchmark_format();

}  // namespace headroom
