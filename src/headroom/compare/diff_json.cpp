// SPDX-License-Identifier: Apache-2.0
#include "headroom/compare/diff_report.h"

#include <fmt/format.h>

#include "headroom/base/json.h"
#include "headroom/compare/percentile_comparison.h"
#include "headroom/record/record_json.h"
#include "headroom/report/interval_json.h"

namespace headroom {
namespace {

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
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
  const auto mean = mean_worsening(report.comparisons, index);
  return {{"label", test.label},
          {"different_machines", test.environment.different_machines},
          {"differences", differences},
          {"geometric_mean_worsening", mean ? Json(mean->mean) : Json(nullptr)},
          {"only_baseline", cases(test.only_baseline)},
          {"only_test", cases(test.only_test)}};
}

Json percentile_json(const PercentileComparison& found) {
  return {{"percentile", found.percentile},
          {"baseline", found.baseline},
          {"test", found.test},
          {"ratio", found.ratio},
          {"low", low_of(found.ratio_interval)},
          {"high", high_of(found.ratio_interval)}};
}

Json percentiles_json(const DiffReport& report, const Comparison& comparison) {
  Json list = Json::array();
  for (const double percentile : report.percentiles) {
    if (const auto found = compare_percentile(comparison, percentile))
      list.push_back(percentile_json(*found));
  }
  return list;
}

Json shift_json(const DiffReport& report, const Comparison& comparison) {
  Json list = Json::array();
  if (!report.shift) return list;
  for (const auto& [decile, verdict] : shift_function(comparison)) {
    Json json = percentile_json(decile);
    json["verdict"] = to_string(verdict);
    list.push_back(std::move(json));
  }
  return list;
}

Json modes_json(const std::optional<ModeComparison>& modes) {
  if (!modes) return nullptr;
  Json matched = Json::array();
  for (const MatchedMode& mode : modes->matched) {
    matched.push_back({{"ratio", mode.ratio.ratio},
                       {"low", low_of(mode.ratio.interval)},
                       {"high", high_of(mode.ratio.interval)},
                       {"share_change", mode.share_change},
                       {"share_change_low", mode.share_change_interval.low},
                       {"share_change_high", mode.share_change_interval.high}});
  }
  const auto& effect = modes->share_effect;
  return {{"baseline", record_json::write_modes(modes->baseline)},
          {"test", record_json::write_modes(modes->test)},
          {"matched", matched},
          {"share_effect", effect ? Json{{"ratio", effect->ratio},
                                         {"low", low_of(effect->interval)},
                                         {"high", high_of(effect->interval)}}
                                  : Json(nullptr)}};
}

Json tails_json(const Comparison& comparison) {
  Json list = Json::array();
  for (const TailVerdict& tail : comparison.tails) {
    list.push_back({{"percentile", tail.margin.percentile},
                    {"margin", tail.margin.margin},
                    {"ratio", tail.ratio},
                    {"low", low_of(tail.interval)},
                    {"high", high_of(tail.interval)},
                    {"verdict", to_string(tail.verdict)}});
  }
  return list;
}

/// One object on one line, written member by member because there may be very many.
class ObjectLine {
 public:
  explicit ObjectLine(std::string& text) : text_(text) { text_ += '{'; }
  void end() { text_.back() = '}'; }

  void add(const char* key, const Json& value) {
    begin(key);
    append_json(text_, value);
    text_ += ',';
  }
  void add(const char* key, const std::string& value) {
    begin(key);
    append_json_string(text_, value);
    text_ += ',';
  }
  void add(const char* key, const char* value) { add(key, std::string(value)); }

 private:
  void begin(const char* key) {
    text_ += '"';
    text_ += key;
    text_ += "\":";
  }

  std::string& text_;
};

Json axes_json(const Record& record) {
  Json axes = Json::object();
  for (const auto& [axis, value] : record.axes) axes[axis] = value.text();
  return axes;
}

Json spread_json(const Comparison& comparison) {
  if (!comparison.run_spread) return nullptr;
  return {{"log_sd", comparison.run_spread->log_sd},
          {"degrees", comparison.run_spread->degrees},
          {"source", comparison.known.source}};
}

void append_comparison(std::string& text, const DiffReport& report, const Comparison& comparison) {
  const Record& record = *comparison.baseline;
  const auto& ratio = comparison.ratio;
  const bool bounded = ratio && ratio->interval;
  ObjectLine line(text);
  line.add("test", comparison.test_index);
  line.add("case", case_name(record));
  line.add("axes", axes_json(record));
  line.add("backend", record.model.backend);
  line.add("metric", record.metric.name);
  line.add("unit", comparison.unit);
  line.add("lower_is_better", record.metric.direction == Direction::kLowerIsBetter);
  line.add("baseline", comparison.baseline_value);
  line.add("test_value", comparison.test_value);
  line.add("ratio", ratio ? Json(ratio->ratio) : Json(nullptr));
  line.add("low", bounded ? Json(ratio->interval->low) : Json(nullptr));
  line.add("high", bounded ? Json(ratio->interval->high) : Json(nullptr));
  line.add("estimator", to_string(comparison.estimator));
  line.add("run_spread", spread_json(comparison));
  line.add("doubts", comparison.doubts);
  line.add("n", comparison.samples);
  line.add("margin", comparison.margin);
  line.add("verdict", to_string(comparison.verdict));
  line.add("p", or_null(comparison.p_value));
  line.add("modes", modes_json(comparison.modes));
  line.add("tails", tails_json(comparison));
  line.add("more_pairs", comparison.more_pairs);
  line.add("problem", comparison.problem);
  line.add("percentiles", percentiles_json(report, comparison));
  line.add("shift", shift_json(report, comparison));
  line.end();
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

void write_diff_json(const DiffReport& report, const std::function<void(std::string_view)>& write) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < report.tests.size(); ++i) tests.push_back(test_json(report, i));
  write(fmt::format(
      "{{\"headroom_diff\": {{\"schema\": 1}},\n\"baseline\": {},\n\"tests\": {},\n\"comparisons\": [",
      dump_json(report.baseline), dump_json(tests)));
  const char* separator = "\n";
  std::string line;
  for (const Comparison& comparison : report.comparisons) {
    line = separator;
    append_comparison(line, report, comparison);
    write(line);
    separator = ",\n";
  }
  const char* correction = report.multiplicity == Multiplicity::kHolm ? "holm" : "benjamini-hochberg";
  Sheet sheet;
  answer_diff(sheet, report);
  write(fmt::format("],\n\"correction\": {},\n\"answer\": {},\n\"gate\": {}}}\n", dump_json(correction),
                    dump_json(Json(sheet.answers())),
                    report.gate ? dump_json(gate_json(*report.gate)) : "null"));
}

}  // namespace headroom
