// SPDX-License-Identifier: Apache-2.0
#include "headroom/trace/readers/json_syntax.h"

#include <gmock/gmock.h>

#include <string>

#include "headroom/trace/readers/read.h"

namespace headroom::trace::readers {
namespace {

using ::testing::HasSubstr;

/// The whole text at once, and byte by byte: pieces must make no difference.
std::optional<JsonSyntax::Fault> fault_of(const std::string& text) {
  JsonSyntax whole, bytes;
  whole.take(text);
  for (const char c : text) bytes.take({&c, 1});
  const auto& found = whole.fault();
  EXPECT_EQ(found.has_value(), bytes.fault().has_value()) << text;
  if (found && bytes.fault()) {
    EXPECT_EQ(found->offset, bytes.fault()->offset) << text;
  }
  return found;
}

TEST(JsonSyntax, TakesJson) {
  for (const char* text : {"{}", "[]", " [1, -0, 0.5, 1e9, 1E+2, -1.25e-3, 0e0, true, false, null] \n",
                           R"({"a": {"b": [{}, []]}, "": ""})", R"("\"\\\/\b\f\n\r\t\u00e9\ud800")",
                           "\"\u00b5 \u20ac \U0001F600\"", "17", "[\"\x7f\"]"}) {
    const auto fault = fault_of(text);
    EXPECT_FALSE(fault.has_value()) << text << ": " << (fault ? fault->what : "");
  }
}

TEST(JsonSyntax, SaysWhereAndWhatIsNone) {
  const struct {
    std::string text;
    std::uint64_t offset;
    const char* what;
  } kCases[] = {{"[1,]", 3, "comma before a closing bracket"},
                {"{\"a\": 1,}", 8, "comma before a closing bracket"},
                {"[1,,2]", 3, "comma where a value"},
                {"[1 2]", 3, "no comma after a value"},
                {"[1}", 2, "do not match"},
                {"{\"a\" 1}", 5, "without a colon"},
                {"{a: 1}", 1, "without quotes"},
                {"[NaN]", 1, "NaN"},
                {"[-Infinity]", 2, "Infinity"},
                {"[01]", 2, "starts with 0"},
                {"[1.]", 3, "number"},
                {"[.5]", 1, "no value"},
                {"[+1]", 1, "no value"},
                {"[1e]", 3, "number"},
                {"['a']", 1, "no value"},
                {"[tru]", 4, "no value"},
                {"[\"\\q\"]", 3, "escape"},
                {"[\"\\u12g4\"]", 6, "escape"},
                {"[\"a\tb\"]", 3, "control character"},
                {"[\"\xff\"]", 2, "no UTF-8"},
                {"[\"\xc3(\"]", 3, "no UTF-8"},
                {"[\"\xed\xa0\x80\"]", 3, "no UTF-8"},
                {"[] []", 3, "after the end"},
                {"{}]", 2, "after the end"}};
  for (const auto& [text, offset, what] : kCases) {
    const auto fault = fault_of(text);
    ASSERT_TRUE(fault.has_value()) << text;
    EXPECT_EQ(fault->offset, offset) << text;
    EXPECT_THAT(fault->what, HasSubstr(what)) << text;
  }
}

TEST(JsonSyntax, IsAProblemOfTheTraceWhereAsked) {
  const std::string text =
      R"({"traceEvents": [{"ph": "X", "name": "k", "cat": "kernel", "ts": 1, "dur": 1},]})";
  EXPECT_EQ(read_text(text, "test.json").problems.count, 0U);
  for (const std::size_t window : {64U, 1U << 19U}) {
    ReadOptions options;
    options.needs = Needs::kAll | Needs::kSyntax;
    options.window_bytes = window;
    const Trace trace = read_text(text, "test.json", options);
    EXPECT_EQ(trace.events.size(), 1U);
    EXPECT_EQ(trace.problems.events_skipped, 0U);
    ASSERT_EQ(trace.problems.first.size(), 1U);
    EXPECT_EQ(trace.problems.first[0].offset, text.find(']'));
    EXPECT_THAT(trace.problems.first[0].what, HasSubstr("no JSON parser takes this text: a comma"));
  }
}

}  // namespace
}  // namespace headroom::trace::readers
