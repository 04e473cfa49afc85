// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_cursor.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headroom/base/json_codec.h"

namespace headroom {
namespace {

/// What json_take makes of all of `text`; nothing where it cannot, or leaves some.
template <typename T>
std::optional<T> taken(const std::string& text) {
  JsonCursor cursor(text.c_str(), text.c_str() + text.size());
  std::optional<T> value(std::in_place);
  if (!json_take(cursor, *value) || !cursor.is_at_end()) value.reset();
  return value;
}

TEST(JsonCursor, TakesWhatIsWrittenPlainly) {
  EXPECT_EQ(taken<std::string>(" \n\"a {b}\""), "a {b}");
  EXPECT_EQ(taken<double>("-1.5e3"), -1500);
  EXPECT_EQ(taken<double>("18446744073709551615"), 18446744073709551615.0);
  EXPECT_EQ(taken<std::int64_t>("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(taken<bool>("\ttrue"), true);
  EXPECT_EQ(taken<bool>("false"), false);
  EXPECT_EQ(taken<std::vector<int>>("[ 1 , 2,3 ]"), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(taken<std::vector<int>>("[ ]"), std::vector<int>());
  EXPECT_EQ((taken<std::map<std::string, int>>(R"({ "a" : 1, "b":2 })")),
            (std::map<std::string, int>{{"a", 1}, {"b", 2}}));
  EXPECT_FALSE(taken<std::optional<int>>("null").value());
  EXPECT_EQ(taken<std::optional<int>>("3").value(), 3);
}

TEST(JsonCursor, LeavesTheRestToThoseWhoCanSayWhatIsWrong) {
  for (const char* text :
       {"", "\"", "\"a", "\"\\n\"", "\"\u00e9\"", "\"\t\"", "3", "null", "'a'", "\"\x7f\""})
    EXPECT_FALSE(taken<std::string>(text)) << text;
  for (const char* text : {"", "-", "01", "1.", ".5", "1e", "1e999", "NaN", "+1", "\"1\"", "-0", "null"})
    EXPECT_FALSE(taken<double>(text)) << text;
  for (const char* text : {"1.0", "1e2", "300", "-1", "-0", "18446744073709551616", "true", ""})
    EXPECT_FALSE(taken<std::uint8_t>(text)) << text;
  for (const char* text : {"-129", "128", "9223372036854775808", "0x1"})
    EXPECT_FALSE(taken<std::int8_t>(text)) << text;
  for (const char* text : {"", "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[1}", "{}", "[\"1\"]", "[1,null]"})
    EXPECT_FALSE(taken<std::vector<int>>(text)) << text;
  for (const char* text : {"{", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{a:1}",
                           "{\"a\" 1}", "[]", "{\"a\":1,\"a\":2}", "{\"\\u0061\":1}", "{\"a\":1]"})
    EXPECT_FALSE((taken<std::map<std::string, int>>(text))) << text;
  for (const char* text : {"tru", "TRUE", "1", "nul", "falsehood"}) EXPECT_FALSE(taken<bool>(text)) << text;
}

TEST(JsonCursor, GoesNotBeyondItsEnd) {
  // What stands behind the end would make a value of it.
  const std::string text = "[1,23]";
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(taken<std::vector<int>>(text.substr(0, size)));
  const std::string number = "12";
  JsonCursor cursor(number.c_str(), number.c_str() + number.size());
  int value = 0;
  EXPECT_TRUE(json_take(cursor, value));
  EXPECT_TRUE(cursor.is_at_end()) << "so that who reads a window knows that the number may go on";
}

}  // namespace
}  // namespace headroom
