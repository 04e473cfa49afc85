// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "headroom/report/case_rows.h"
#include "headroom/report/interval_json.h"
#include "headroom_pages/case_columns.h"
#include "headroom_pages/sections.h"

namespace headroom {
namespace {

Json axes_json(const Record& record) {
  Json axes = Json::object();
  for (const auto& [name, value] : record.axes) {
    const auto whole = value.integer();
    axes[name] = whole ? Json(*whole) : Json(value.text());
  }
  return axes;
}

Json limit_json(const Limit& limit) {
  return {{"name", limit_name(limit)},
          {"at", limit.value},
          {"share", limit.fraction},
          {"low", low_of(limit.interval)},
          {"high", high_of(limit.interval)}};
}

Json metric_json(const Record& record) {
  Json json{{"value", record.metric.value},
            {"unit", record.metric.unit},
            {"low", low_of(record.interval)},
            {"high", high_of(record.interval)},
            {"n", sample_count(record)}};
  if (record.samples.size() > 1) json["ranks"] = process_medians(record);
  if (!record.metric.extra_info.empty()) json["about"] = record.metric.extra_info;
  if (record.limit) json["limit"] = limit_json(*record.limit);
  return json;
}

/// The metric that tables are about: the one that says so, else the first.
const Record& headline_of(const MeasuredCase& one) {
  for (const auto& [name, record] : one.metrics) {
    if (record->metric.headline) return *record;
  }
  return *one.first;
}

const char* outcome_text(const Record& record) {
  if (record.outcome.kind == Outcome::Kind::kMeasured) return "measured";
  return record.outcome.kind == Outcome::Kind::kSkipped ? "skipped" : "failed";
}

Json case_json(const MeasuredCase& one, std::size_t numbers) {
  const Record &record = *one.first, &headline = headline_of(one);
  Json metrics = Json::object();
  for (const auto& [name, measured] : one.metrics) metrics[name] = metric_json(*measured);
  Json json{{"name", record.model.name},
            {"label", case_name(record)},
            {"backend", record.model.backend},
            {"runner", record.runner},
            {"dtype", record.benchmark.dtype},
            {"axes", axes_json(record)},
            {"outcome", outcome_text(record)},
            {"reason", record.outcome.reason},
            {"notes", headline.notes},
            {"about", record.model.extra_info},
            {"metrics", std::move(metrics)},
            {"headline", headline.metric.name},
            {"samples", sample_summary(headline, numbers)}};
  if (headline.ratio) {
    json["ratio"] = {{"ratio", headline.ratio->ratio},
                     {"low", low_of(headline.ratio->interval)},
                     {"high", high_of(headline.ratio->interval)},
                     {"to", headline.ratio->other}};
  }
  return json;
}

}  // namespace

PageSection instrument_section(std::string kind, std::string title, const std::vector<Record>& records,
                               const std::vector<std::string>& answers) {
  const std::vector<MeasuredCase> measured = measured_cases(records);
  const std::size_t numbers = numbers_that_fit(measured.size());
  Json cases = Json::array(), environments = Json::array();
  for (const MeasuredCase& one : measured) cases.push_back(case_json(one, numbers));
  Json data{{"answers", answers}, {"run", run_json(records)}, {"cases", std::move(cases)}};
  for (const Environment* environment : environments_of(records)) {
    environments.push_back(environment_facts(*environment));
    const auto cache = environment->extra_info.find(kCacheRunKey);
    if (cache != environment->extra_info.end() && is_json(cache->second))
      data["cache_run"] = parse_json(cache->second, title);
  }
  data["environments"] = std::move(environments);
  return {std::move(kind), std::move(title), std::move(data)};
}

}  // namespace headroom
