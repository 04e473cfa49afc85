// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/target_verdict.h"

#include <cmath>

#include "headroom/record/disturbance.h"

namespace headroom {
namespace {

/// What a record is judged by: a value with its interval, and what it should be.
struct Judged {
  double value = 0;
  std::optional<Interval> interval;
  double target = 0;
  Direction direction = Direction::kHigherIsBetter;
};

TargetVerdict verdict_of(const Judged& judged) {
  if (!judged.interval) return TargetVerdict::kUnclear;
  const bool lower = judged.direction == Direction::kLowerIsBetter;
  const double good = lower ? judged.interval->high : judged.interval->low;
  const double bad = lower ? judged.interval->low : judged.interval->high;
  if (lower ? good <= judged.target : good >= judged.target) return TargetVerdict::kReached;
  if (lower ? bad > judged.target : bad < judged.target) return TargetVerdict::kMissed;
  return TargetVerdict::kUnclear;
}

Judged judged_by(const Record& record) {
  if (record.metric.target_share && record.limit) {
    return {record.limit->fraction, record.limit->interval, *record.metric.target_share,
            Direction::kHigherIsBetter};
  }
  return {record.metric.value, record.interval, *record.metric.target, record.metric.direction};
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

const char* name_of(TargetVerdict verdict) {
  switch (verdict) {
    case TargetVerdict::kReached:
      return "ok";
    case TargetVerdict::kMissed:
      return "missed";
    case TargetVerdict::kUnclear:
      return "unclear";
    case TargetVerdict::kNone:
      break;
  }
  return "-";
}

bool is_above_limit(const Record& record) {
  if (!record.limit) return false;
  return record.limit->interval ? record.limit->interval->low > 1 : record.limit->fraction > 1;
}

bool is_miscounted(const Record& record) {
  if (!record.limit || !record.limit->interval) return false;
  constexpr double kNoiseOfALimit = 1.05, kHeldUp = 4;
  const bool disturbed = record.limit->unstable || !troubles_of(record).empty();
  return record.limit->interval->low > (disturbed ? kHeldUp : kNoiseOfALimit);
}

TargetVerdict target_verdict(const Record& record) {
  if (!record.metric.target || record.outcome.kind != Outcome::Kind::kMeasured) return TargetVerdict::kNone;
  return is_above_limit(record) ? TargetVerdict::kUnclear : verdict_of(judged_by(record));
}

TargetVerdict mean_target_verdict(std::span<const Record* const> cases) {
  Judged mean;
  double below = 0, above = 0;  // squares of the two halves
  for (const Record* record : cases) {
    if (target_verdict(*record) == TargetVerdict::kNone) return TargetVerdict::kNone;
    const Judged one = judged_by(*record);
    if (is_above_limit(*record) || !one.interval) return TargetVerdict::kUnclear;
    mean.direction = one.direction;
    mean.value += one.value;
    mean.target += one.target;
    below += (one.value - one.interval->low) * (one.value - one.interval->low);
    above += (one.interval->high - one.value) * (one.interval->high - one.value);
  }
  if (cases.empty()) return TargetVerdict::kNone;
  // Sums in place of means: the number of cases stands on both sides.
  mean.interval = Interval{mean.value - std::sqrt(below), mean.value + std::sqrt(above), 0.95};
  return verdict_of(mean);
}

}  // namespace headroom
