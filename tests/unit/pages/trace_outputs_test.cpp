// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <limits>

#include "headroom/compare/comparison.h"
#include "headroom/compare/match.h"
#include "headroom/files/compressed_file.h"
#include "headroom/files/csv.h"
#include "headroom/record/formats.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using trace::Cell;
using trace::Kind;

trace::TraceFacts facts(const std::string& source, std::int64_t rank) {
  trace::TraceFacts facts;
  facts.source = source;
  facts.rank = rank;
  facts.events_seen = 10;
  facts.recorded_at_s = 1'623'143'089 + static_cast<std::uint64_t>(rank);
  facts.problems = {2, 1, {{17, "ts is not a number"}}};
  facts.devices = {{0, "Tesla V100-SXM2-16GB", 17e9, 80, 2048, 32},
                   {1, "Tesla V100-SXM2-16GB", 17e9, 80, 2048, 32}};
  return facts;
}

TraceReport report(double utilization = 0.5) {
  TraceReport report;
  report.name = "resnet";
  report.analysis = "utilization";
  report.command = {"headroom", "trace", "utilization", "a.json"};
  report.files = {facts("a.json", 0)};
  trace::DataTable table{"devices", "devices", {}, {}};
  table.columns = {
      {"name", "name", Kind::kText}, {"busy_ns", "busy", Kind::kTimeNs}, {"share", "share", Kind::kShare}};
  table.rows = {{std::string("a, \"b\""), std::int64_t{7}, 0.1},
                {Cell{}, Cell{}, std::numeric_limits<double>::infinity()}};
  report.result.tables = {table};
  report.result.headlines = {{"utilization", Kind::kShare, false, utilization, ""},
                             {"busy", Kind::kTimeNs, false, 1e6, "1"}};
  report.result.notes = {"a note"};
  return report;
}

TEST(TraceCsv, HasKeysThenPlainNumbers) {
  EXPECT_EQ(trace_csv(report().result.tables[0]), "name,busy_ns,share\n\"a, \"\"b\"\"\",7,0.1\n,,\n");
}

TEST(TraceCsv, PartsTheTablesOfOneText) {
  trace::AnalysisResult result = report().result;
  result.tables.push_back(result.tables[0]);
  result.tables[1].key = "streams";
  EXPECT_EQ(trace_csv(result),
            "# devices: devices\nname,busy_ns,share\n\"a, \"\"b\"\"\",7,0.1\n,,\n"
            "\n# streams: devices\nname,busy_ns,share\n\"a, \"\"b\"\"\",7,0.1\n,,\n");
}

TEST(TraceJson, HasTablesByKeyWithNumbersInFull) {
  const Json json = trace_json(report());
  EXPECT_EQ(json["analysis"], "utilization");
  EXPECT_EQ(json["tables"]["devices"][0], (Json{{"name", "a, \"b\""}, {"busy_ns", 7}, {"share", 0.1}}));
  EXPECT_TRUE(json["tables"]["devices"][1]["name"].is_null());
  EXPECT_EQ(
      json["headlines"][1],
      (Json{
          {"metric", "busy"}, {"unit", "ns"}, {"lower_is_better", false}, {"value", 1e6}, {"device", "1"}}));
  EXPECT_EQ(json["files"][0]["problems"], 2);
  EXPECT_EQ(json["files"][0]["first_problems"][0]["offset"], 17);
  EXPECT_EQ(json["notes"], Json::array({"a note"}));
  EXPECT_FALSE(json.contains("ranks"));
}

TEST(TraceJson, IsAFileOfRecordsThatDiffReads) {
  const PaddedText before(trace_json_text(report(0.5))), after(trace_json_text(report(0.25)));
  const auto baseline = records_from_text(before, "before.json"),
             test = records_from_text(after, "after.json");
  ASSERT_EQ(baseline.size(), 2U);
  EXPECT_EQ(case_name(baseline[0]), "resnet");
  EXPECT_EQ(case_name(baseline[1]), "resnet device=1");
  const Matches matches = match_records(baseline, test);
  ASSERT_EQ(matches.pairs.size(), 2U);
  const Comparison comparison = compare_records(*matches.pairs[0].first, *matches.pairs[0].second);
  ASSERT_TRUE(comparison.ratio);
  EXPECT_DOUBLE_EQ(comparison.ratio->ratio, 0.5);
  EXPECT_EQ(parse_json(before.view(), "")["trace"]["analysis"], "utilization");
}

TEST(TraceRecords, CarryTheEnvironmentOfTheTrace) {
  const std::vector<Record> records = trace_records(report());
  ASSERT_EQ(records.size(), 2U);
  const Environment& environment = *records[0].environment;
  EXPECT_EQ(environment.fingerprint, "trace-tesla-v100-sxm2-16gb");
  EXPECT_EQ(environment.timestamp, 1'623'143'089U);
  ASSERT_EQ(environment.machines.size(), 1U);
  EXPECT_EQ(environment.machines[0].gpu_info, "Tesla V100-SXM2-16GB");
  EXPECT_EQ(environment.machines[0].gpu_count, 2U);
  EXPECT_EQ(records[0].metric.direction, Direction::kHigherIsBetter);
  EXPECT_EQ(records[0].metric.extra_info.at("analysis"), "utilization");
  EXPECT_EQ(records[0].benchmark.mode, "trace");
  EXPECT_EQ(records[1].metric.unit, "ns");
}

TEST(TraceRecords, OfAJobHaveEachRankAndTheWhole) {
  TraceReport job = report();
  job.files.push_back(facts("b.json", 1));
  job.ranks = {{"a.json", 0, job.result}, {"b.json", 1, job.result}};
  job.ranks[1].result.headlines = {
      {"utilization", Kind::kShare, false, 0.7, ""},
      {"overlap", Kind::kShare, false, std::numeric_limits<double>::quiet_NaN(), ""}};
  std::vector<std::string> names;
  for (const Record& record : trace_records(job)) names.push_back(case_name(record));
  EXPECT_THAT(names, ElementsAre("resnet", "resnet device=1", "resnet rank=0", "resnet rank=0 device=1",
                                 "resnet rank=1"));
  EXPECT_EQ(trace_json(job)["ranks"][1]["rank"], 1);
}

}  // namespace
}  // namespace headroom
