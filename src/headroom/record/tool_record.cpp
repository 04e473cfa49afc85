// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/tool_record.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "headroom/stats/quantile.h"

namespace headroom {

Record tool_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                   Direction direction) {
  Record record;
  record.benchmark.name = std::move(tool);
  record.model.name = std::move(case_name);
  record.metric.name = std::move(metric);
  record.metric.unit = std::move(unit);
  record.metric.direction = direction;
  return record;
}

Record headline_record(std::string tool, std::string case_name, std::string metric, std::string unit,
                       Direction direction) {
  Record record =
      tool_record(std::move(tool), std::move(case_name), std::move(metric), std::move(unit), direction);
  record.metric.headline = true;
  return record;
}

void set_samples(Record& record, std::vector<double> values, std::uint64_t iterations) {
  if (values.empty()) {
    record.outcome = {Outcome::Kind::kFailed, "the file holds no value"};
    return;
  }
  record.metric.value = median(values);
  ProcessSamples process;
  process.iterations = iterations;
  process.values = std::move(values);
  record.samples.push_back(std::move(process));
}

double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? *middle
                                : std::lerp(*std::max_element(values.begin(), middle), *middle, 0.5);
}

void set_value(Record& record, double value) {
  record.metric.value = value;
}

Direction direction_of_name(std::string_view metric) {
  // Names that PyTorch's dashboards know, and the endings of rates.
  constexpr std::array<std::string_view, 12> kHigher{"speedup", "Speedup",     "utilization", "bandwidth",
                                                     "per_sec", "_per_second", "/s)",         "throughput",
                                                     "flops",   "accuracy",    "pass_rate",   "qps"};
  const bool higher = std::any_of(kHigher.begin(), kHigher.end(), [metric](std::string_view word) {
    return metric.find(word) != std::string_view::npos;
  });
  return higher || metric.ends_with("/s") ? Direction::kHigherIsBetter : Direction::kLowerIsBetter;
}

std::string unit_of_name(std::string_view metric) {
  const std::size_t open = metric.rfind('(');
  if (open == std::string_view::npos || !metric.ends_with(')')) return {};
  return std::string(metric.substr(open + 1, metric.size() - open - 2));
}

}  // namespace headroom
