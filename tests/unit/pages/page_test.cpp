// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "headroom_pages/case_columns.h"
#include "headroom_pages/page.h"

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

}  // namespace
}  // namespace headroom
