// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/schedule/dispatch_run.h"

namespace headroom {

/// The records of one operator, each in µs with the cycles of every rank as the samples of a process: "hit"
/// (the headline), "miss", "propagation" (miss - hit of the same cycle), and where the operator has
/// counterparts on plain tensors "plain", "local", "hit over local", "miss over local"; steps as "hit key",
/// "miss look-up" and so on; and "instructions plain" and so on where they are counted. extra_info has the
/// median of each rank ("rank 0") and "worst rank". `library` is what ran ("libtorch 1.13.1"). One record
/// with the reason where nothing was measured.
std::vector<Record> dispatch_records(const DispatchResult& result, const DispatchSetup& setup,
                                     const std::string& library,
                                     const std::shared_ptr<const Environment>& environment);

}  // namespace headroom
