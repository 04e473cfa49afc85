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
  kReached,  ///< the whole interval is on the good side
  kMissed,   ///< the whole interval is on the bad side
  kUnclear   ///< the interval has both sides, or there is none; or the result is above its limit
};

/// "ok", "missed", "unclear"; "-" for none.
const char* name_of(TargetVerdict verdict);

/// Whether the result is better than its limit by more than the interval, or, where there is none, at all.
bool is_above_limit(const Record& record);

/// Whether it is so far above that no noise of a limit explains it: the whole interval more than 5 % above a
/// limit that held still on a machine that was not disturbed, or more than four times any other limit. Then
/// the bytes or FLOPs that were declared are not those that were moved or computed, and the number counts for
/// nothing.
bool is_miscounted(const Record& record);

/// A share target is judged by the paired ratio to the limit, not by the metric.
TargetVerdict target_verdict(const Record& record);

/// The same of the mean of several cases, each with a target: what each is judged by, and its target, in the
/// mean; the half-widths of the intervals add up as independent ones do. So the mean is never missed where
/// every case reached its target, nor the other way round.
TargetVerdict mean_target_verdict(std::span<const Record* const> cases);

}  // namespace headroom
