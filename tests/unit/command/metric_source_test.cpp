// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/metric_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::HasSubstr;

double number(const std::string& metric, const std::string& text, std::vector<std::string> errors = {}) {
  CommandResult result;
  result.wall_ns = 2.5e9;
  result.user_ns = 1e9;
  result.system_ns = 5e8;
  result.peak_rss_bytes = 3 << 20;
  result.error_lines = std::move(errors);
  return read_metric(parse_metric(metric), result, {text, "its output"});
}

std::string error_of(const std::string& metric, const std::string& text) {
  try {
    return std::to_string(number(metric, text));
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(Metric, OfTheKernelsAccount) {
  EXPECT_EQ(number("wall", ""), 2.5);
  EXPECT_EQ(number("cpu", ""), 1.5);
  EXPECT_EQ(number("rss", ""), 3);
  EXPECT_EQ(parse_metric("wall").unit, "s");
  EXPECT_EQ(parse_metric("rss").unit, "MiB");
}

TEST(Metric, InAColumn) {
  EXPECT_EQ(number("csv:t", "name,t\nx,1.25\n"), 1.25);
  EXPECT_EQ(number("csv:t", " t ,name\r\n 7 ,x\r\n\n"), 7) << "blanks and empty lines";
  EXPECT_THAT(error_of("csv:t", "name,T\nx,1\n"),
              HasSubstr("no column 't'; did you mean 'T'?; it has name, T"));
  EXPECT_THAT(error_of("csv:t", "t\n1\n2\n"), HasSubstr("2 rows of values; one was expected"));
  EXPECT_THAT(error_of("csv:t", "t\n"), HasSubstr("0 rows of values"));
  EXPECT_THAT(error_of("csv:t", ""), HasSubstr("no lines"));
  EXPECT_THAT(error_of("csv:t", "name,t\nx\n"), HasSubstr("ends before"));
  EXPECT_THAT(error_of("csv:t", "t\nOOM\n"), HasSubstr("is no number: 'OOM'"));
  EXPECT_THAT(error_of("csv:t", "t\nnan\n"), testing::AnyOf(HasSubstr("finite"), HasSubstr("no number")));
  EXPECT_THAT(error_of("csv:t", "t\n-1\n"), HasSubstr("not below 0"));
  EXPECT_THAT(error_of("csv:t", "t\n\"1\n"), HasSubstr("its output"));
}

TEST(Metric, AtAPlaceInJson) {
  EXPECT_EQ(number("json:/runs/1/s", R"({"runs": [0, {"s": 4}]})"), 4);
  EXPECT_THAT(error_of("json:/s", "{}"), HasSubstr("nothing at '/s'"));
  EXPECT_THAT(error_of("json:/s", R"({"s": "4"})"), HasSubstr("no number but '\"4\"'"));
  EXPECT_THAT(error_of("json:/s", "{"), HasSubstr("its output"));
  EXPECT_THAT(error_of("json:/0", "{\"a\": 1}"), HasSubstr("nothing at"));
  EXPECT_THAT(error_of("json:/x", "[1]"), HasSubstr("nothing at"));
}

TEST(Metric, FoundInTheOutput) {
  EXPECT_EQ(number("output:took ([0-9.]+) s", "took 1 s\ntook 2.5 s\nend\n"), 2.5) << "the last one counts";
  EXPECT_EQ(number("output:[0-9]+", "abc 12"), 12) << "the whole match where there is no group";
  EXPECT_EQ(number("output:took ([0-9]+)", "nothing\n", {"took 3"}), 3) << "in standard error";
  EXPECT_THAT(error_of("output:took ([0-9]+)", "x"), HasSubstr("nothing in its output"));
  EXPECT_THAT(error_of("output:took (.*)", "took long"), HasSubstr("is no number: 'long'"));
  EXPECT_THROW(check_metric(parse_metric("output:(")), Error);
  EXPECT_THROW(check_metric(parse_metric("output:(a)(b)")), Error);
}

TEST(Metric, LongLinesNeedNoStack) {
  EXPECT_EQ(number("output:[ab]+ ([0-9]+)", std::string(1 << 22, 'a') + " 5\n"), 5);
}

TEST(Metric, MustBeKnown) {
  for (const char* text : {"time", "csv", "csv:", "json:", ""})
    EXPECT_THROW(parse_metric(text), Error) << text;
}

}  // namespace
}  // namespace headroom
