// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "headroom/compare/comparison.h"
#include "headroom/compare/match.h"
#include "headroom/files/compressed_file.h"
#include "headroom/files/csv.h"
#include "headroom/record/formats.h"
#include "headroom_pages/case_columns.h"
#include "headroom_pages/page.h"
#include "headroom_trace/report/trace_report.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(PageTest, DataEndsNoElementAndIsTheSameWhenItIsRead) {
  const Json data{{"</script><!--", "\xE2\x80\xA8 & \xE2\x80\xA9 <b>"}, {"\xE2\x80\xA6", "\xE2\x80"}};
  const std::string text = script_json(data);
  EXPECT_THAT(text, Not(HasSubstr("<")));
  EXPECT_THAT(text, Not(HasSubstr("&")));
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xA8")));
  EXPECT_THAT(text, Not(HasSubstr("\xE2\x80\xA9")));
  EXPECT_THAT(text, HasSubstr("\xE2\x80\xA6"));
  EXPECT_EQ(dump_json(parse_json(text, "page")), dump_json(data));
}

TEST(PageTest, JsonThatIsTextAlreadyBecomesAMemberOfTheData) {
  PageSection section{"trace", "a title", {{"answer", "yes"}}, {{"timeline", "[\"</script>\",1]"}}};
  const auto data_of = [](const PageSection& one) {
    const std::string html = page_html({"page", {}, {one}});
    const std::string begin = "data-kind=\"trace\">";
    const std::size_t from = html.find(begin) + begin.size();
    return dump_json(
        *json_at(parse_json(html.substr(from, html.find("</script>", from) - from), "page"), "/data"));
  };
  EXPECT_EQ(data_of(section), R"({"answer":"yes","timeline":["</script>",1]})");
  section.data = Json::object();
  section.texts.emplace_back("more", "2");
  EXPECT_EQ(data_of(section), R"({"timeline":["</script>",1],"more":2})");
}

TEST(PageTest, TextIsNoMarkup) {
  EXPECT_EQ(html_text("<a b=\"c\">&\x01\n"), "&lt;a b=&quot;c&quot;&gt;&amp;\xEF\xBF\xBD\n");
}

TEST(PageTest, ThePolicyKnowsStyleAndScriptByTheirHashesAlone) {
  const std::string html = page_html({"a title", {}, {{"run", "</title>", Json::object()}}});
  const PageAssets assets = page_assets();
  EXPECT_THAT(html, HasSubstr("script-src '" + std::string(assets.script_hash) + "'"));
  EXPECT_THAT(html, HasSubstr("<style>" + std::string(assets.style) + "</style>"));
  EXPECT_THAT(html, HasSubstr("<script>" + std::string(assets.script) + "</script>"));
  EXPECT_THAT(html, HasSubstr("Mike Bostock"));
  EXPECT_THAT(html, HasSubstr("default-src 'none'"));
}

TEST(PageTest, APageIsKnownByItsBeginning) {
  const std::string html = page_html({"a title", {}, {}});
  EXPECT_TRUE(is_page_html(html));
  EXPECT_TRUE(is_page_html(std::string_view(html).substr(0, 1'000)));
  EXPECT_FALSE(is_page_html("<!DOCTYPE html>\n<html><head><title>headroom</title>"));
  EXPECT_FALSE(is_page_html(""));
}

ProcessSamples process_of(std::vector<double> values, std::size_t warmup, std::uint32_t first_round) {
  ProcessSamples process;
  process.pid = 7;
  process.warmup = warmup;
  for (std::size_t i = 0; i < values.size(); ++i)
    process.rounds.push_back(first_round + static_cast<std::uint32_t>(i));
  process.noise.resize(values.size());
  process.values = std::move(values);
  return process;
}

TEST(SampleSummaryTest, FewSamplesAreThereOneByOne) {
  Record record;
  record.samples = {process_of({9, 1.23456789, 2}, 1, 0), process_of({3, 4}, 0, 3)};
  record.samples[1].noise.set(1, {.steal_ms = 1});
  EXPECT_EQ(dump_json(sample_summary(record, 100)),
            R"({"n":5,"warmup":1,"each":1,"processes":[)"
            R"({"pid":7,"warmup":1,"round":0,"values":[9.0,1.234568,2.0]},)"
            R"({"pid":7,"warmup":0,"round":3,"values":[3.0,4.0],"disturbed":[[1,"stolen"]]}]})");
}

TEST(SampleSummaryTest, ManyAreSummedUpButNeverWarmUpWithTheRest) {
  std::vector<double> values{100, 90};
  for (int i = 0; i < 98; ++i) values.push_back(i % 2 == 0 ? 1 : 3);
  Record record;
  record.samples = {process_of(values, 2, 0)};
  const Json summary = sample_summary(record, 60);
  const Json& process = summary["processes"][0];
  EXPECT_EQ(summary["each"].get<std::size_t>(), 10u);
  EXPECT_EQ(process["warmup"].get<std::size_t>(), 1u);
  EXPECT_EQ(process["values"][0].get<double>(), 95);
  EXPECT_EQ(process["low"][1].get<double>(), 1);
  EXPECT_EQ(process["values"][1].get<double>(), 2);
  EXPECT_EQ(process["high"][1].get<double>(), 3);
  std::size_t counted = 0;
  for (const std::size_t count : summary["histogram"]["counts"].get<std::vector<std::size_t>>())
    counted += count;
  EXPECT_EQ(counted, 98u);
}

TEST(SampleSummaryTest, RoundsThatSkipAndValuesThatAreNoneAreKept) {
  Record record;
  record.samples = {process_of({1, std::numeric_limits<double>::infinity(), 3}, 0, 0)};
  record.samples[0].rounds = {0, 2, 3};
  const Json summary = sample_summary(record, 100);
  const Json& process = summary["processes"][0];
  EXPECT_EQ(process["rounds"].get<std::vector<std::size_t>>(), (std::vector<std::size_t>{0, 2, 3}));
  EXPECT_TRUE(process["values"][1].is_null());
  EXPECT_TRUE(sample_summary(Record{}, 100).is_null());
}

TEST(SampleSummaryTest, MoreRecordsHaveFewerNumbersEach) {
  EXPECT_EQ(limited_numbers(0), 3'000u);
  EXPECT_EQ(limited_numbers(24), 2'500u);
  EXPECT_EQ(limited_numbers(1'000'000), 12u);
}

using testing::ElementsAre;
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
