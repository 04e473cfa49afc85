// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/targets.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/text.h"
#include "headroom/files/toml_document.h"
#include "headroom/record/disturbance.h"
#include "headroom/record/metrics.h"

namespace headroom {
namespace {

const std::vector<std::string> kKeys{"experiment", "metric",           "dtype", "device",
                                     "value",      "percent_of_limit", "note"};

Target target_of(const TomlTable& table) {
  table.only(kKeys, "a target has");
  Target target;
  target.experiment = table.required_text("experiment");
  target.device = table.required_text("device");
  target.dtype = table.text("dtype");
  target.metric = table.text("metric");
  table.text("note");
  const bool has_value = table.has("value");
  if (has_value == table.has("percent_of_limit")) {
    table.refuse(table.table().source(), "a target has either 'value' or 'percent_of_limit'");
  }
  if (has_value && target.metric.empty()) {
    table.refuse(table.table().source(), "'metric' is missing: a 'value' is in the unit of one metric");
  }
  target.kind = has_value ? Target::Kind::kValue : Target::Kind::kShareOfLimit;
  target.value = has_value ? table.number("value") : table.number("percent_of_limit") / 100;
  return target;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool matches_glob(std::string_view pattern, std::string_view text) {
  return fits_glob(lower(pattern), lower(text));
}

bool fits_device(const Target& target, const TargetQuery& query) {
  return matches_glob(target.device, query.device) ||
         matches_glob("*" + target.device + "*", query.device_name);
}

struct Judged {
  double value = 0;
  std::optional<Interval> interval;
  double target = 0;
  Direction direction = Direction::kHigherIsBetter;
};

TargetVerdict verdict_of(const Judged& judged) {
  if (!judged.interval || judged.direction == Direction::kUnknown) return TargetVerdict::kInconclusive;
  const bool lower = judged.direction == Direction::kLowerIsBetter;
  const double good = lower ? judged.interval->high : judged.interval->low;
  const double bad = lower ? judged.interval->low : judged.interval->high;
  if (lower ? good <= judged.target : good >= judged.target) return TargetVerdict::kReached;
  if (lower ? bad > judged.target : bad < judged.target) return TargetVerdict::kMissed;
  return TargetVerdict::kInconclusive;
}

Judged judged_value(const Record& record) {
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

std::vector<Target> parse_targets(std::string_view text, const std::string& source) {
  const toml::table document = parse_toml(text, source);
  std::vector<Target> targets;
  for (const auto& [key, node] : document) {
    if (key.str() != "target") {
      refuse_at(key.source(), source,
                "unknown key " + quote(key.str()) + "; the file holds [[target]] tables");
    }
    for (const TomlTable& table : toml_tables(node, "target", source)) targets.push_back(target_of(table));
  }
  return targets;
}

std::vector<Target> read_targets(const std::filesystem::path& path) {
  return parse_targets(read_file(path), path.string());
}

std::vector<Target> shipped_targets() {
  return parse_targets(kShippedTargets, "data/targets.toml");
}

std::optional<Target> find_target(std::span<const Target> targets, const TargetQuery& query) {
  const auto found = std::find_if(targets.begin(), targets.end(), [&](const Target& target) {
    return target.experiment == query.experiment &&
           (target.metric.empty() || is_same_metric(target.metric, query.metric)) &&
           (target.dtype.empty() || torch_dtype(target.dtype) == torch_dtype(query.dtype)) &&
           fits_device(target, query);
  });
  if (found == targets.end()) return std::nullopt;
  return *found;
}

TargetQuery target_query(const Record& record) {
  std::string name = architecture(record);
  if (record.environment && !record.environment->machines.empty()) {
    const Environment::Runner& machine = record.environment->machines.front();
    name += " " + (record.device.starts_with("cuda") ? machine.gpu_info : machine.cpu_info);
  }
  return {record.model.name, record.metric.name, record.benchmark.dtype, record.device, name};
}

void apply_targets(std::vector<Record>& records, std::span<const Target> targets) {
  for (Record& record : records) {
    if (!record.metric.headline) continue;
    if (const auto target = find_target(targets, target_query(record))) apply(record, *target);
  }
}

const char* name_of(TargetVerdict verdict) {
  static constexpr const char* kNames[] = {"-", "ok", "missed", "inconclusive"};
  return kNames[static_cast<std::size_t>(verdict)];
}

bool is_above_limit(const Record& record) {
  if (!record.limit) return false;
  return record.limit->interval ? record.limit->interval->low > 1 : record.limit->fraction > 1;
}

bool is_miscounted(const Record& record) {
  if (!record.limit || !record.limit->interval) return false;
  constexpr double kLimitSlack = 1.05, kDisturbedSlack = 4;
  const bool disturbed = record.limit->unstable || !disturbance_reasons(record).empty();
  return record.limit->interval->low > (disturbed ? kDisturbedSlack : kLimitSlack);
}

TargetVerdict target_verdict(const Record& record) {
  if (!record.metric.target || record.outcome.kind != Outcome::Kind::kMeasured) return TargetVerdict::kNone;
  return is_above_limit(record) ? TargetVerdict::kInconclusive : verdict_of(judged_value(record));
}

TargetVerdict mean_target_verdict(std::span<const Record* const> cases) {
  Judged mean;
  double below = 0, above = 0;  // squared half-widths
  for (const Record* record : cases) {
    if (target_verdict(*record) == TargetVerdict::kNone) return TargetVerdict::kNone;
    const Judged one = judged_value(*record);
    if (is_above_limit(*record) || !one.interval) return TargetVerdict::kInconclusive;
    mean.direction = one.direction;
    mean.value += one.value;
    mean.target += one.target;
    below += (one.value - one.interval->low) * (one.value - one.interval->low);
    above += (one.interval->high - one.value) * (one.interval->high - one.value);
  }
  if (cases.empty()) return TargetVerdict::kNone;
  // Sums, not means: the count cancels.
  mean.interval = Interval{mean.value - std::sqrt(below), mean.value + std::sqrt(above), 0.95};
  return verdict_of(mean);
}

}  // namespace headroom
