// SPDX-License-Identifier: Apache-2.0
#include "headroom_pages/sections.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "headroom/base/json.h"
#include "headroom/base/text.h"
#include "headroom/compare/comparison.h"
#include "headroom/record/metric_direction.h"
#include "headroom/record/record_json.h"
#include "headroom/report/case_rows.h"
#include "headroom/report/roofline.h"
#include "headroom/report/run_view.h"
#include "headroom_pages/case_columns.h"
#include "headroom_trace/findings/findings.h"
#include "headroom_trace/ranks/rank_summary.h"
#include "headroom_trace/tables/data_table.h"

namespace headroom {
namespace {

Json marks_json(const std::vector<CaseRow>& rows) {
  CaseFlags marks;
  for (const CaseRow& row : rows) marks |= case_flags(row.latency != nullptr ? *row.latency : row.any());
  return flag_meanings(marks);
}

/// A shift function costs 18 intervals and 60 numbers.
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

void set_comparison(CaseColumns& columns, const Comparison& comparison, TextIndex& texts) {
  const Record& record = *comparison.baseline;
  columns.set("test", comparison.test_index);
  columns.set("case", case_name(record));
  if (!record.model.backend.empty()) columns.set("backend", record.model.backend);
  columns.set("metric", record.metric.name);
  columns.set("unit", comparison.unit);
  columns.set("lower_is_better", lower_is_better(comparison.direction));
  columns.set("baseline", comparison.baseline_value);
  columns.set("value", comparison.test_value);
  columns.set("n", comparison.samples);
  columns.set("paired", comparison.estimator == Estimator::kPaired);
  columns.set("margin", comparison.margin);
  columns.set("verdict", to_string(comparison.verdict));
  if (const std::string reason = undecided_reason(comparison); !reason.empty())
    columns.set("reason", texts.of(reason));
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
  return is_change(comparison.verdict);
}

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
  if (!record.metric.numbers.empty()) json["numbers"] = record.metric.numbers;
  if (record.limit) json["limit"] = limit_json(*record.limit);
  return json;
}

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
            {"notes", sentences(headline.notes)},
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

using trace::DataTable;
using trace::Finding;

Json unit_json(trace::Kind kind) {
  if (kind == trace::Kind::kText) return nullptr;
  if (kind == trace::Kind::kCount) return "count";
  return kind == trace::Kind::kShare ? "share" : trace_unit(kind);
}

Json table_json(const DataTable& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const trace::Column& column : table.columns)
    columns.push_back({{"title", column.title}, {"unit", unit_json(column.kind)}});
  for (const std::vector<trace::Cell>& cells : table.rows) {
    Json row = Json::array();
    for (const trace::Cell& cell : cells) row.push_back(cell_json(cell));
    rows.push_back(std::move(row));
  }
  return {{"title", table.title}, {"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Json known_or_null(std::int64_t value) {
  return value < 0 ? Json(nullptr) : Json(value);
}

/// Null if the finding's rank or time is unknown.
Json place_of(const Finding& finding, const trace::JobTimeline& timeline) {
  const auto& ranks = timeline.ranks;
  const auto rank = std::ranges::find_if(ranks, [&](const trace::RankTimeline& one) {
    // A loss of all ranks has the time of one of them.
    const bool is_its = finding.rank < 0 || finding.rank == one.rank || ranks.size() == 1;
    return is_its && finding.at_ns >= one.start_ns && finding.at_ns <= one.end_ns;
  });
  if (rank == ranks.end() || finding.at_ns == 0) return nullptr;
  return finding.at_ns - rank->offset_ns - timeline.start_ns;
}

Json findings_json(const TraceReport& report, const trace::JobTimeline& timeline) {
  Json all = Json::array();
  if (report.result.summary == nullptr) return all;
  for (const Finding& finding : report.result.summary->findings) {
    all.push_back({{"kind", trace::to_string(finding.kind)},
                   {"recoverable_ns", finding.recoverable_ns},
                   {"share", finding.share},
                   {"rank", known_or_null(finding.rank)},
                   {"step", known_or_null(finding.step)},
                   {"at", place_of(finding, timeline)},
                   {"where", trace::place_text(finding)},
                   {"evidence", finding.evidence},
                   {"fix", finding.fix}});
  }
  return all;
}

/// Null if the step's length is unknown.
Json key_json(const TraceReport& report, const std::optional<AchievedRate>& achieved) {
  constexpr std::size_t kFirst = 3;
  if (report.result.summary == nullptr || report.result.summary->shares.step_ns <= 0) return nullptr;
  const trace::StepShares& shares = report.result.summary->shares;
  const std::vector<Finding>& findings = report.result.summary->findings;
  const auto known = [&](double share) { return shares.is_known() ? Json(share) : Json(nullptr); };
  const std::span<const Finding> first(findings.data(), std::min(kFirst, findings.size()));
  Json key{{"steps", shares.steps},
           {"step_ns", shares.step_ns},
           {"busy", known(shares.busy)},
           {"exposed_communication", known(shares.exposed_communication)},
           {"first_three_ns", first.empty() ? Json(nullptr) : Json(trace::joint_gain_ns(first))},
           {"achieved", nullptr}};
  if (achieved)
    key["achieved"] = {{"flops_per_second", achieved->flops_per_second}, {"covered", achieved->covered}};
  return key;
}

}  // namespace

PageSection run_section(std::string title, const std::vector<Record>& records,
                        const std::vector<std::string>& answers) {
  const std::vector<CaseRow> rows = case_rows(records);
  const Roofline roofline = roofline_of(records);
  const std::vector<const Environment*> environments = environments_of(records);
  Json facts = Json::array();
  for (const Environment* environment : environments) facts.push_back(environment_facts(*environment));
  TextIndex texts;
  Json cases = case_columns(records, rows, environments, texts);
  Json data{{"answers", answers},
            {"run", run_json(records)},
            {"count", rows.size()},
            {"cases", std::move(cases)},
            {"texts", texts.json()},
            {"environments", std::move(facts)},
            {"marks", marks_json(rows)},
            {"roofline", roofline.cases.empty() ? Json(nullptr) : roofline_json(roofline)}};
  return {"run", std::move(title), std::move(data)};
}

PageSection diff_section(const DiffReport& report, const std::vector<std::string>& answers) {
  Json tests = Json::array();
  for (std::size_t i = 0; i < report.tests.size(); ++i) tests.push_back(test_json(report, i));
  const bool are_many = report.comparisons.size() > kMostShifts;
  CaseColumns columns;
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

PageSection instrument_section(std::string kind, std::string title, const std::vector<Record>& records,
                               const std::vector<std::string>& answers) {
  const std::vector<MeasuredCase> measured = measured_cases(records);
  const std::size_t numbers = limited_numbers(measured.size());
  Json cases = Json::array(), environments = Json::array();
  for (const MeasuredCase& one : measured) cases.push_back(case_json(one, numbers));
  Json data{{"answers", answers}, {"run", run_json(records)}, {"cases", std::move(cases)}};
  for (const Environment* environment : environments_of(records)) {
    environments.push_back(environment_facts(*environment));
    if (!environment->options.cache_run.is_null()) data["cache_run"] = environment->options.cache_run;
  }
  data["environments"] = std::move(environments);
  return {std::move(kind), std::move(title), std::move(data)};
}

PageSection trace_section(std::string title, const TraceReport& report, const trace::JobTimeline& timeline,
                          const std::optional<AchievedRate>& achieved) {
  Json tables = Json::array();
  for (const DataTable& table : report.result.tables) {
    if (!table.is_for_combining && !table.is_in_answer) tables.push_back(table_json(table));
  }
  std::vector<std::string> notes = report.result.notes;
  notes.insert(notes.end(), timeline.notes.begin(), timeline.notes.end());
  Json data{{"key", key_json(report, achieved)}, {"doubts", report.result.doubts},
            {"answer", report.result.answer},    {"findings", findings_json(report, timeline)},
            {"tables", std::move(tables)},       {"notes", std::move(notes)}};
  PageSection section{"trace", std::move(title), std::move(data), {}};
  // As text: JSON values would take several times the memory.
  section.texts.emplace_back("timeline", trace::timeline_json(timeline));
  return section;
}

}  // namespace headroom
