// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "headroom/record/record.h"
#include "headroom/record/targets.h"

namespace headroom {

/// Gives each headline record the target that fits it: metric.target in the metric's unit, and where the
/// target is a share of the limit, metric.target_share (0.8). Records without a limit get no share
/// target.
void apply_targets(std::vector<Record>& records, std::span<const Target> targets);

enum class TargetVerdict {
  kNone,     ///< no target, or no measurement
  kReached,  ///< the estimate is on the good side
  kMissed,  ///< the whole interval is on the bad side, or the result is above its limit (an accounting error)
  kUnclear  ///< the estimate is on the bad side, but the interval contains the target; or the result is above
            ///< a limit that moved, or of which too few samples tell
};

/// Whether the result is better than its limit by more than the interval, or, where there is none, at all.
bool is_above_limit(const Record& record);

/// A share target is judged by the paired ratio to the limit, not by the metric.
TargetVerdict target_verdict(const Record& record);

}  // namespace headroom
