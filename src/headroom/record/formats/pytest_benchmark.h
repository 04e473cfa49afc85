// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/record/formats.h"

namespace headroom {

/// What pytest-benchmark writes with --benchmark-json (read); with samples where --benchmark-save-data was
/// given.
Format pytest_benchmark_format();

}  // namespace headroom
