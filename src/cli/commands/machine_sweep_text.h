// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/shared/machine_sweep.h"
#include "headroom/base/sheet.h"

namespace headroom::cli {

/// What a sweep found: what memory and arithmetic reach; device after device bandwidth by working set and
/// peaks by dtype as tables, and the bandwidths as a plot. `gpu` names the device that is not the CPU; empty:
/// "cuda".
Sheet sweep_sheet(const std::vector<SweepPoint>& points, const std::string& gpu);

}  // namespace headroom::cli
