// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/target_verdict.h"

#include <string>

#include "headroom/base/text.h"
#include "headroom/record/seed_rows.h"

namespace headroom {
namespace {

TargetVerdict judge(double value, const std::optional<Interval>& interval, double target,
                    Direction direction) {
  const bool lower = direction == Direction::kLowerIsBetter;
  if (lower ? value <= target : value >= target) return TargetVerdict::kReached;
  return interval && interval->contains(target) ? TargetVerdict::kUnclear : TargetVerdict::kMissed;
}

void apply(Record& record, const Target& target) {
  if (target.kind == Target::Kind::kValue) {
    record.metric.target = target.value;
    return;
  }
  if (!record.limit) return;
  const bool lower = record.metric.direction == Direction::kLowerIsBetter;
  record.metric.target = lower ? record.limit->value / target.value : record.limit->value * target.value;
  record.metric.target_share = target.value;
}

}  // namespace

void apply_targets(std::vector<Record>& records, std::span<const Target> targets) {
  for (Record& record : records) {
    if (!record.metric.headline) continue;
    if (const auto target = find_target(targets, target_query(record))) apply(record, *target);
  }
}

bool is_above_limit(const Record& record) {
  if (!record.limit) return false;
  return record.limit->interval ? record.limit->interval->low > 1 : record.limit->fraction > 1;
}

TargetVerdict target_verdict(const Record& record) {
  if (!record.metric.target || record.outcome.kind != Outcome::Kind::kMeasured) return TargetVerdict::kNone;
  if (is_above_limit(record)) {
    const bool certain = record.limit->interval && !record.limit->unstable;
    return certain ? TargetVerdict::kMissed : TargetVerdict::kUnclear;
  }
  if (record.metric.target_share && record.limit) {
    return judge(record.limit->fraction, record.limit->interval, *record.metric.target_share,
                 Direction::kHigherIsBetter);
  }
  return judge(record.metric.value, record.interval, *record.metric.target, record.metric.direction);
}

}  // namespace headroom
