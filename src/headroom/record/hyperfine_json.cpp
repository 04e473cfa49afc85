// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/hyperfine_json.h"

#include <algorithm>
#include <map>
#include <optional>

#include "headroom/base/error.h"
#include "headroom/base/json.h"
#include "headroom/stats/quantile.h"

namespace headroom {
namespace {

std::optional<double> seconds_per(const std::string& unit) {
  static const std::map<std::string, double> kUnits{
      {"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1}};
  const auto found = kUnits.find(unit);
  return found == kUnits.end() ? std::nullopt : std::optional(found->second);
}

/// All samples in the order measured, times `factor`.
std::vector<double> all_values(const Record& record, double factor = 1) {
  std::vector<double> values;
  for (const ProcessSamples& process : record.samples) {
    for (const double value : process.values) values.push_back(value * factor);
  }
  return values;
}

std::string command_of(const Record& record) {
  const auto title = record.model.extra_info.find("title");
  if (title != record.model.extra_info.end()) return title->second;
  return record.model.backend.empty() ? case_name(record) : case_name(record) + " " + record.model.backend;
}

bool same_case(const Record& a, const Record& b) {
  return a.model.name == b.model.name && a.model.backend == b.model.backend && a.axes == b.axes &&
         a.runner == b.runner && a.caches == b.caches && a.threads == b.threads &&
         a.benchmark.dtype == b.benchmark.dtype;
}

Json exit_codes(const Record* record, std::size_t runs) {
  Json codes = Json::array();
  const std::vector<double> values = record == nullptr ? std::vector<double>(runs) : all_values(*record);
  for (const double value : values) codes.push_back(value < 0 ? Json() : Json(static_cast<int>(value)));
  return codes;
}

Json result_of(const Record& latency, const std::vector<Record>& records) {
  const auto other = [&](const char* metric) -> const Record* {
    const auto found = std::ranges::find_if(records, [&](const Record& record) {
      return record.metric.name == metric && same_case(record, latency) && !all_values(record).empty();
    });
    return found == records.end() ? nullptr : &*found;
  };
  const auto mean_or_zero = [&](const char* metric) {
    const Record* record = other(metric);
    return record == nullptr ? 0 : mean(all_values(*record, seconds_per(record->metric.unit).value_or(1)));
  };
  const std::vector<double> times = all_values(latency, *seconds_per(latency.metric.unit));
  Json result;
  result["command"] = command_of(latency);
  result["mean"] = mean(times);
  result["stddev"] = times.size() > 1 ? Json(standard_deviation(times)) : Json();
  result["median"] = median(times);
  result["user"] = mean_or_zero("user_time");
  result["system"] = mean_or_zero("system_time");
  result["min"] = *std::ranges::min_element(times);
  result["max"] = *std::ranges::max_element(times);
  result["times"] = times;
  if (const Record* memory = other("peak_memory")) {
    result["memory_usage_byte"] = Json::array();
    for (const double bytes : all_values(*memory))
      result["memory_usage_byte"].push_back(static_cast<std::int64_t>(bytes));
  }
  result["exit_codes"] = exit_codes(other("exit_code"), times.size());
  for (const auto& [name, value] : latency.axes) result["parameters"][name] = value.text();
  return result;
}

}  // namespace

std::string hyperfine_json(const std::vector<Record>& records, const std::string& source) {
  Json results = Json::array();
  for (const Record& record : records) {
    if (record.metric.name != "latency" || !seconds_per(record.metric.unit) || all_values(record).empty())
      continue;
    results.push_back(result_of(record, records));
  }
  if (results.empty()) throw Error(source + ": nothing was timed, and hyperfine's file holds times only");
  Json document;
  document["results"] = std::move(results);
  return dump_json_pretty(document) + "\n";
}

}  // namespace headroom
