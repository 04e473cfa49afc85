// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/metric_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <unordered_set>
#include <utility>

#include "headroom/base/text.h"
#include "headroom/base/units.h"
#include "headroom/record/metrics.h"
#include "headroom/report/case_rows.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

double ns_of_unit(const Record& record) {
  return record.metric.unit == "us" ? kNsPerUs : kNsPerSecond;
}

/// Whether "±" suits: accurate to the last digit for a narrow interval, to a factor of two for a wide one.
bool is_symmetric(const Interval& interval, double estimate) {
  constexpr double kNarrow = 0.01, kFactor = 2;
  const double below = estimate - interval.low, above = interval.high - estimate;
  if (below + above <= 2 * kNarrow * std::abs(estimate)) return true;
  return below > 0 && above > 0 && below <= kFactor * above && above <= kFactor * below;
}

/// As a share of the estimate.
bool is_even(const Interval& interval, double estimate) {
  return is_symmetric(interval, estimate) && estimate - interval.low < std::abs(estimate);
}

/// Half the width, or the longer side of an asymmetric interval.
double spread_of(const Interval& interval, double estimate) {
  return is_symmetric(interval, estimate) ? (interval.high - interval.low) / 2
                                          : std::max(interval.high - estimate, estimate - interval.low);
}

std::string points_text(double points) {
  constexpr double kLeastTenth = 0.05;
  if (points >= 1000) return ">999";  // a share of which nothing is known
  return points < kLeastTenth && points > 0 ? fmt::format("{:.1g}", points) : fmt::format("{:.1f}", points);
}

std::vector<const Record*> unlisted_records(const std::vector<Record>& records) {
  std::unordered_set<const Record*> shown;
  for (const CaseRow& row : case_rows(records))
    shown.insert({row.latency, row.headline, row.overhead, row.gpu, row.mm_conv});
  std::vector<const Record*> found;
  for (const Record& record : records) {
    const bool measured = record.outcome.kind == Outcome::Kind::kMeasured;
    if (measured && !shown.contains(&record)) found.push_back(&record);
  }
  return found;
}

std::vector<const Record*> chosen(const std::vector<Record>& records, const MetricChoice& choice) {
  if (choice.all) return unlisted_records(records);
  std::vector<const Record*> found;
  for (const Record& record : records) {
    const bool named = std::ranges::any_of(
        choice.names, [&](const std::string& name) { return is_same_metric(name, record.metric.name); });
    if (named && record.outcome.kind == Outcome::Kind::kMeasured) found.push_back(&record);
  }
  return found;
}

}  // namespace

std::string value_text(double value, const std::string& unit, const std::string& metric) {
  constexpr std::array<std::pair<const char*, double>, 5> kTimes{
      {{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const auto& [name, ns] : kTimes) {
    if (unit == name) return format_time_ns(value * ns);
  }
  if (metric == "flops_utilization") return format_number(value) + " of peak";
  return unit.empty() || unit == "1" ? format_number(value) : format_number(value) + " " + unit;
}

std::string signed_time(double ns) {
  return ns < 0 ? "-" + format_time_ns(-ns) : format_time_ns(ns);
}

std::string metric_time(const Record* record) {
  return record == nullptr ? "" : signed_time(record->metric.value * ns_of_unit(*record));
}

std::string metric_time_with_interval(const Record* record) {
  if (record == nullptr) return "";
  const std::string value = metric_time(record);
  if (!record->interval) return value + " ±?";
  const double ns = ns_of_unit(*record);
  if (!is_symmetric(*record->interval, record->metric.value))
    return fmt::format("{} ({}–{})", value, signed_time(record->interval->low * ns),
                       signed_time(record->interval->high * ns));
  return value + " ±" + format_time_ns(spread_of(*record->interval, record->metric.value) * ns);
}

std::string metric_number_with_interval(const Record* record) {
  if (record == nullptr) return "";
  const std::string value = format_number(record->metric.value);
  if (!record->interval) return value + " ±?";
  if (!is_symmetric(*record->interval, record->metric.value))
    return fmt::format("{} ({}–{})", value, format_number(record->interval->low),
                       format_number(record->interval->high));
  return value + " ±" + format_number(spread_of(*record->interval, record->metric.value));
}

std::string spread_text(const Record& record) {
  if (!record.interval) return "?";
  const double spread = spread_of(*record.interval, record.metric.value);
  if (record.metric.value == 0) return value_text(spread, record.metric.unit, record.metric.name);
  const double percent = spread / std::abs(record.metric.value) * 100;
  constexpr double kMostTenths = 1e4;
  return percent < kMostTenths ? fmt::format("{:.1f} %", percent) : format_number(percent) + " %";
}

std::string metric_time_cell(const Record* record) {
  if (record == nullptr || !record->interval) return metric_time_with_interval(record);
  const double spread = spread_of(*record->interval, record->metric.value);
  return metric_time(record) + " ±" + format_time_ns(spread * ns_of_unit(*record));
}

std::string metric_number_cell(const Record* record) {
  if (record == nullptr || !record->interval) return metric_number_with_interval(record);
  return format_number(record->metric.value) + " ±" +
         format_number(spread_of(*record->interval, record->metric.value));
}

std::string share_cell(double share, const std::optional<Interval>& interval) {
  return format_percent(share) + (interval ? " ±" + points_text(100 * spread_of(*interval, share)) : "");
}

std::string limit_cell(const Record& record) {
  return record.limit ? share_cell(record.limit->fraction, record.limit->interval) : "";
}

std::string spread_suffix(const Record& record) {
  if (!record.interval) return "";
  if (is_even(*record.interval, record.metric.value)) return " ±" + spread_text(record);
  return fmt::format(" ({}–{})", value_text(record.interval->low, record.metric.unit, record.metric.name),
                     value_text(record.interval->high, record.metric.unit, record.metric.name));
}

std::string share_with_interval(double share, const std::optional<Interval>& interval) {
  if (!interval) return format_percent(share);
  if (is_even(*interval, share)) return share_cell(share, interval);
  return fmt::format("{} ({:.3g}–{})", format_percent(share), 100 * interval->low,
                     format_percent(interval->high));
}

std::string limit_text(const Record& record) {
  return record.limit ? share_with_interval(record.limit->fraction, record.limit->interval) : "";
}

std::string groups_text(const std::vector<Mode>& groups, const std::string& unit, const std::string& metric) {
  std::vector<std::string> parts;
  for (const Mode& group : groups) {
    parts.push_back(fmt::format("{} in {:.0f} %{}", value_text(group.median, unit, metric), 100 * group.share,
                                parts.empty() ? " of the samples" : ""));
  }
  return join(parts, ", ");
}

std::string modes_text(const Record& record) {
  if (record.modes.groups.empty()) return "";
  const std::size_t changes = record.modes.changes;
  return fmt::format(
      "modes: {}, {}", groups_text(record.modes.groups, record.metric.unit, record.metric.name),
      record.modes.in_stretches ? fmt::format("in stretches ({})", counted(changes, "change")) : "mixed");
}

std::string interval_phrase(const std::optional<Interval>& interval) {
  if (!interval) return "too few pairs for an interval";
  return fmt::format("95 % interval {} to {}", format_ratio(interval->low), format_ratio(interval->high));
}

std::string ratio_text(const Record& record) {
  if (!record.ratio) return "";
  const RatioToOther& ratio = *record.ratio;
  return fmt::format("    {} x the time of {} ({})", format_ratio(ratio.ratio), ratio.other,
                     interval_phrase(ratio.interval));
}

std::string name_with_runner(const Record& record, const std::vector<Record>& records) {
  const bool several =
      std::ranges::any_of(records, [&](const Record& other) { return other.runner != record.runner; });
  return several ? fmt::format("{} ({})", record.model.name, record.runner) : record.model.name;
}

Table metric_table(const std::vector<Record>& records, const MetricChoice& choice) {
  Table table(Columns()
                  .left({"case"})
                  .shared("backend", Align::kLeft, "")
                  .shared("dtype", Align::kLeft, "")
                  .left({"metric"})
                  .right({"value", "± 95 %"})
                  .priority(Priority::kLast)
                  .shared("n", Align::kRight, "samples"),
              4);
  const CaseDifferences differ(records);
  for (const Record* record : chosen(records, choice)) {
    table.row({differ.case_text(*record), differ.backend_text(*record), record->benchmark.dtype,
               record->metric.name,
               value_text(record->metric.value, record->metric.unit, record->metric.name),
               spread_text(*record), std::to_string(sample_count(*record))});
  }
  return table;
}

std::string unshown_metrics_text(const std::vector<Record>& records) {
  constexpr std::size_t kNamed = 8;
  std::vector<std::string> names;
  std::set<std::string> known;
  std::size_t count = 0;
  for (const Record* record : unlisted_records(records)) {
    if (record->instrument != Instrument::kImport) continue;
    ++count;
    if (known.insert(record->metric.name).second && known.size() <= kNamed)
      names.push_back(record->metric.name);
  }
  if (count == 0) return "";
  if (known.size() > kNamed) names.push_back("...");
  return fmt::format("  {}: {}; --all-metrics shows {}\n", counted(count, "more result"), join(names, ", "),
                     count == 1 ? "it" : "them");
}

}  // namespace headroom
