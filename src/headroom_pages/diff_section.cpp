// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstddef>
#include <utility>

#include "headroom/compare/percentile_comparison.h"
#include "headroom/report/interval_json.h"
#include "headroom_pages/case_columns.h"
#include "headroom_pages/sections.h"

namespace headroom {
namespace {

/// A shift function costs 18 intervals, and 60 numbers of the page.
constexpr std::size_t kMostShifts = 1'000;

Json names_of(const std::vector<const Record*>& records) {
  Json names = Json::array();
  for (const Record* record : records)
    names.push_back(case_name(*record) + (record->model.backend.empty() ? "" : " " + record->model.backend));
  return names;
}

Json mean_json(const DiffReport& report, std::size_t test) {
  const auto mean = mean_worsening(report.comparisons, test);
  if (!mean) return nullptr;
  return {{"ratio", mean->mean},
          {"low", low_of(mean->interval)},
          {"high", high_of(mean->interval)},
          {"cases", mean->cases}};
}

Json test_json(const DiffReport& report, std::size_t index) {
  const DiffTest& test = report.tests[index];
  Json differences = Json::array();
  for (const EnvironmentDifference& one : test.environment.list)
    differences.push_back({{"what", one.what}, {"baseline", one.baseline}, {"test", one.test}});
  return {{"label", test.label},
          {"different_machines", test.environment.different_machines},
          {"differences", std::move(differences)},
          {"mean", mean_json(report, index)},
          {"only_baseline", names_of(test.only_baseline)},
          {"only_test", names_of(test.only_test)}};
}

Json shift_json(const Comparison& comparison) {
  Json deciles = Json::array();
  for (const auto& [decile, verdict] : shift_function(comparison)) {
    deciles.push_back(Json::array({Json(decile.percentile), Json(decile.baseline), Json(decile.test),
                                   Json(decile.ratio), low_of(decile.ratio_interval),
                                   high_of(decile.ratio_interval), Json(to_string(verdict))}));
  }
  return deciles.empty() ? Json(nullptr) : deciles;
}

void set_comparison(Columns& columns, const Comparison& comparison, TextIndex& texts) {
  const Record& record = *comparison.baseline;
  columns.set("test", comparison.test_index);
  columns.set("case", case_name(record));
  if (!record.model.backend.empty()) columns.set("backend", record.model.backend);
  columns.set("metric", record.metric.name);
  columns.set("unit", comparison.unit);
  columns.set("lower_is_better", record.metric.direction == Direction::kLowerIsBetter);
  columns.set("baseline", comparison.baseline_value);
  columns.set("value", comparison.test_value);
  columns.set("n", comparison.samples);
  columns.set("margin", comparison.margin);
  columns.set("verdict", to_string(comparison.verdict));
  if (!comparison.problem.empty()) columns.set("problem", comparison.problem);
  if (comparison.ratio) {
    columns.set("ratio", comparison.ratio->ratio);
    columns.set("low", low_of(comparison.ratio->interval));
    columns.set("high", high_of(comparison.ratio->interval));
    columns.set("estimator", to_string(comparison.estimator));
  }
  if (!comparison.doubts.empty()) {
    Json numbers = Json::array();
    for (const std::string& doubt : comparison.doubts) numbers.push_back(texts.of(doubt));
    columns.set("doubts", std::move(numbers));
  }
}

bool has_changed(const Comparison& comparison) {
  return comparison.verdict == Verdict::kRegression || comparison.verdict == Verdict::kImprovement;
}

}  // namespace

PageSection diff_section(const DiffReport& report, const std::vector<std::string>& answers) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < report.tests.size(); ++i) tests.push_back(test_json(report, i));
  const bool are_many = report.comparisons.size() > kMostShifts;
  Columns columns;
  TextIndex texts;
  std::size_t shifts = 0;
  for (const Comparison& comparison : report.comparisons) {
    set_comparison(columns, comparison, texts);
    const bool is_wanted = shifts < kMostShifts && (!are_many || has_changed(comparison));
    if (is_wanted) {
      columns.set("shift", shift_json(comparison));
      ++shifts;
    }
    columns.next();
  }
  Json data{{"answers", answers},
            {"baseline", report.baseline},
            {"tests", std::move(tests)},
            {"count", report.comparisons.size()},
            {"comparisons", std::move(columns).json()},
            {"texts", texts.json()}};
  if (are_many) data["shifts_of"] = shifts;
  std::string title = report.baseline;
  for (const DiffTest& test : report.tests) title += " → " + test.label;
  return {"diff", std::move(title), std::move(data)};
}

}  // namespace headroom
