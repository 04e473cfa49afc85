// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/formats.h"

#include <fmt/format.h>

#include "headroom/base/error.h"
#include "headroom/base/json_codec.h"
#include "headroom/base/text.h"
#include "headroom/record/formats/file_outline.h"
#include "headroom/record/formats/tool_files.h"
#include "headroom/record/metric_direction.h"

namespace headroom {
namespace {

/// A JMH unit as headroom has it: "us/op" is 1000 ns, "ops/ms" 1000 ops/s.
struct JmhUnit {
  std::string metric, unit;
  double factor = 1;
  Direction direction = Direction::kLowerIsBetter;
};

JmhUnit unit_of_score(const std::string& unit) {
  if (unit.starts_with("ops/")) {
    if (const auto ns = nanoseconds_per(unit.substr(4)))
      return {"throughput", "ops/s", 1e9 / *ns, Direction::kHigherIsBetter};
  } else if (unit.ends_with("/op")) {
    if (const auto ns = nanoseconds_per(unit.substr(0, unit.size() - 3))) return {"latency", "ns", *ns};
  }
  return {"score", unit, 1, guessed_direction("", unit)};
}

/// Mean of [value, count] pairs: in the mode "sample" an iteration has a histogram.
double mean_of_histogram(const Json& pairs, const std::string& where) {
  double sum = 0, count = 0;
  for (const Json& pair : require_array(pairs, where)) {
    if (!pair.is_array() || pair.size() != 2)
      throw Error(where + ": expected pairs of a value and its count");
    const double times = tool_number(pair[1], where);
    sum += tool_number(pair[0], where) * times;
    count += times;
  }
  return count > 0 ? sum / count : 0;
}

/// A list of iterations for each fork.
std::vector<std::vector<double>> read_forks(const Json& metric, double factor, bool is_time,
                                            const std::string& where) {
  const bool histograms = metric.contains("rawDataHistogram");
  const char* key = histograms ? "rawDataHistogram" : "rawData";
  std::vector<std::vector<double>> forks;
  if (json_optional(metric, key, where) == nullptr) return forks;
  for (const Json& fork : json_array(metric, key, where)) {
    const std::string path = fmt::format("{}/{}/{}", where, key, forks.size());
    std::vector<double>& values = forks.emplace_back();
    for (const Json& iteration : require_array(fork, path)) {
      const std::string place = fmt::format("{}/{}", path, values.size());
      const double value =
          factor * (histograms ? mean_of_histogram(iteration, place) : tool_number(iteration, place));
      values.push_back(is_time ? require_time(value, place) : value);
    }
  }
  return forks;
}

void set_score(Record& record, const Json& metric, double factor, bool is_time, const std::string& where) {
  std::vector<std::vector<double>> forks = read_forks(metric, factor, is_time, where);
  if (!forks.empty()) return set_process_samples(record, std::move(forks));
  const double score = factor * finite_number(metric, "score", where);
  set_value(record, is_time ? require_time(score, where + "/score") : score);
}

void add_jmh_result(const Json& result, const std::string& where, std::vector<Record>& records) {
  const std::string name = json_string(result, "benchmark", where), path = where + "/primaryMetric";
  const Json& primary = json_member(result, "primaryMetric", where);
  const JmhUnit unit = unit_of_score(json_string(primary, "scoreUnit", path));
  Record record = headline_record("JMH", name, unit.metric, unit.unit, unit.direction);
  record.benchmark.mode = json_string_or(result, "mode", "", where);
  record.threads = json_member_or<int>(result, "threads", 0, where);
  if (const Json* parameters = json_optional(result, "params", where)) {
    for (const auto& [key, value] : plain_texts(*parameters)) record.axes.emplace_back(key, value);
  }
  auto environment = imported_environment({});
  for (const char* key : {"jdkVersion", "vmName", "vmVersion", "jmhVersion"})
    environment->extra_info[key] = json_string_or(result, key, "", where);
  record.environment = environment;
  const Record base = record;
  set_score(record, primary, unit.factor, true, path);
  records.push_back(std::move(record));
  const Json* others = json_optional(result, "secondaryMetrics", where);
  if (others == nullptr) return;
  for (const auto& [key, metric] : require_object(*others, where + "/secondaryMetrics").items()) {
    const std::string place = fmt::format("{}/secondaryMetrics/{}", where, key);
    Record other = base;
    const std::string other_unit = json_string_or(metric, "scoreUnit", "", place);
    set_metric(other, key, other_unit, guessed_direction(key, other_unit));
    set_score(other, metric, 1, false, place);
    records.push_back(std::move(other));
  }
}

bool is_jmh(const FileOutline& outline) {
  return outline.has_all({"jmhVersion", "primaryMetric"});
}

std::vector<Record> read_jmh(const PaddedText& text, const std::string& source) {
  std::vector<Record> records;
  for (const JsonRow& row : parse_json_rows(text.view(), source))
    add_jmh_result(row.object, row.where, records);
  return records;
}

}  // namespace

/// JMH's -rf json (read): a process for each fork, a sample for each iteration.
Format jmh_format() {
  return {.name = "jmh", .summary = "JSON of JMH", .recognises = is_jmh, .read = read_jmh, .one_run = true};
}

}  // namespace headroom
