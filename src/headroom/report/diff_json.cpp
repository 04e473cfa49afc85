// SPDX-License-Identifier: Apache-2.0
#include "headroom/report/diff_json.h"

#include <algorithm>
#include <iterator>

#include "headroom/compare/percentile_comparison.h"

namespace headroom {
namespace {

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json low_of(const std::optional<Interval>& interval) {
  return interval ? Json(interval->low) : Json(nullptr);
}
Json high_of(const std::optional<Interval>& interval) {
  return interval ? Json(interval->high) : Json(nullptr);
}

Json cases(const std::vector<const Record*>& records) {
  Json list = Json::array();
  for (const Record* record : records) {
    list.push_back(
        {{"case", case_name(*record)}, {"backend", record->model.backend}, {"metric", record->metric.name}});
  }
  return list;
}

Json test_json(const DiffReport& report, std::size_t index) {
  const DiffTest& test = report.tests[index];
  Json differences = Json::array();
  for (const EnvironmentDifference& difference : test.environment.list) {
    differences.push_back(
        {{"what", difference.what}, {"baseline", difference.baseline}, {"test", difference.test}});
  }
  std::vector<Comparison> of_test;
  std::ranges::copy_if(report.comparisons, std::back_inserter(of_test),
                       [index](const Comparison& c) { return c.test_index == index; });
  return {{"label", test.label},
          {"different_machines", test.environment.different_machines},
          {"differences", differences},
          {"geometric_mean_worsening", or_null(mean_worsening(of_test))},
          {"only_baseline", cases(test.only_baseline)},
          {"only_test", cases(test.only_test)}};
}

Json percentiles_json(const DiffReport& report, const Comparison& comparison) {
  Json list = Json::array();
  for (const double percentile : report.percentiles) {
    const auto found = compare_percentile(comparison, percentile);
    if (!found) continue;
    list.push_back({{"percentile", percentile},
                    {"baseline", found->baseline},
                    {"test", found->test},
                    {"ratio", found->ratio},
                    {"low", low_of(found->ratio_interval)},
                    {"high", high_of(found->ratio_interval)}});
  }
  return list;
}

Json comparison_json(const DiffReport& report, const Comparison& comparison) {
  const Record& record = *comparison.baseline;
  const auto& ratio = comparison.ratio;
  const bool bounded = ratio && ratio->interval;
  Json axes = Json::object();
  for (const auto& [axis, value] : record.axes) axes[axis] = value;
  return {{"test", comparison.test_index},
          {"case", case_name(record)},
          {"axes", axes},
          {"backend", record.model.backend},
          {"metric", record.metric.name},
          {"unit", comparison.unit},
          {"lower_is_better", record.metric.direction == Direction::kLowerIsBetter},
          {"baseline", comparison.baseline_value},
          {"test_value", comparison.test_value},
          {"ratio", ratio ? Json(ratio->ratio) : Json(nullptr)},
          {"low", bounded ? Json(ratio->interval->low) : Json(nullptr)},
          {"high", bounded ? Json(ratio->interval->high) : Json(nullptr)},
          {"estimator", to_string(comparison.estimator)},
          {"n", comparison.samples},
          {"margin", comparison.margin},
          {"verdict", to_string(comparison.verdict)},
          {"p", or_null(comparison.p_value)},
          {"more_pairs", comparison.more_pairs},
          {"problem", comparison.problem},
          {"percentiles", percentiles_json(report, comparison)}};
}

Json gate_json(const GateAnswer& gate) {
  Json counts = Json::object();
  for (const auto& [verdict, count] : gate.counts) counts[to_string(verdict)] = count;
  return {{"exit", static_cast<int>(gate.exit)},
          {"sentence", gate.sentence},
          {"missing", gate.missing},
          {"counts", counts}};
}

}  // namespace

Json diff_json(const DiffReport& report) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < report.tests.size(); ++i) tests.push_back(test_json(report, i));
  Json comparisons = Json::array();
  for (const Comparison& comparison : report.comparisons)
    comparisons.push_back(comparison_json(report, comparison));
  return {{"headroom_diff", {{"schema", 1}}},
          {"baseline", report.baseline},
          {"tests", tests},
          {"comparisons", comparisons},
          {"correction", report.multiplicity == Multiplicity::kHolm ? "holm" : "benjamini-hochberg"},
          {"gate", report.gate ? gate_json(*report.gate) : Json(nullptr)}};
}

}  // namespace headroom
