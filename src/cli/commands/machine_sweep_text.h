// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/shared/machine_sweep.h"

namespace headroom::cli {

/// What a sweep found, device after device: bandwidth by working set and peaks by dtype as tables, and the
/// bandwidths as a plot. `gpu` names the device that is not the CPU; empty: "cuda".
/// `width`: of the terminal in characters, 0 for no limit (Table::text).
std::string sweep_text(const std::vector<SweepPoint>& points, const std::string& gpu, std::size_t width = 0);

}  // namespace headroom::cli
