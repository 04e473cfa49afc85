// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "headroom/base/json.h"
#include "headroom/report/roofline.h"

namespace headroom {

/// For programs:
///
///     {"headroom_roofline": {"schema": 1},
///      "cases": [{"name", "backend", "runner", "dtype", "device", "caches", "threads", "flop_per_byte",
///                 "gflops", "low", "high", "n", "bandwidth_gb_s",
///                 "limit": {"name", "share", "low", "high", "unstable"} or null}],
///      "roofs": [{"name", "kind": "bandwidth" or "peak", "what", "level", "device", "threads", "rate",
///      "unit",
///                 "low", "high", "n", "source"}],
///      "left_out": [{"name", "reason"}]}
///
/// Numbers that there are not are null.
Json roofline_json(const Roofline& roofline);

}  // namespace headroom
