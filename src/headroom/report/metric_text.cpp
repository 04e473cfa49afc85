// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/metric_text.h"

#include <fmt/format.h>

#include "headroom/base/units.h"
#include "headroom/stats/interval.h"

namespace headroom {
namespace {

double ns_of_unit(const Record& record) {
  return record.metric.unit == "us" ? kNsPerUs : kNsPerSecond;
}

double half_width(const Record& record) {
  return (record.interval->high - record.interval->low) / 2;
}

}  // namespace

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
  return value + " ±" + format_time_ns(half_width(*record) * ns_of_unit(*record));
}

std::string metric_number_with_interval(const Record* record) {
  if (record == nullptr) return "";
  const std::string value = format_number(record->metric.value);
  if (!record->interval) return value + " ±?";
  return value + " ±" + format_number(half_width(*record));
}

std::string spread_text(const Record& record) {
  if (!record.interval) return "?";
  return fmt::format("{:.1f} %", relative_half_width(*record.interval, record.metric.value) * 100);
}

}  // namespace headroom
