// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "../error_message.h"
#include "headroom/base/json.h"
#include "headroom/base/json_codec.h"

namespace headroom {
namespace {

using test::message_of;
using namespace testing;

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump_json(parse_json(R"({"z": 1, "a": [true, null]})", "t")), R"({"z":1,"a":[true,null]})");
}

TEST(ParseJson, TellsTheByteOffset) {
  EXPECT_THAT(message_of([] { parse_json("{\"a\": 1,\n \"b\": x}", "r.json"); }),
              StartsWith("r.json: not JSON at byte 15: "));
  EXPECT_THAT(message_of([] { parse_json("", "r.json"); }),
              AllOf(StartsWith("r.json: not JSON at byte 0: "), HasSubstr("the text ends there")));
}

TEST(ParseJson, RefusesWhatStrictJsonRefuses) {
  for (const char* text : {"NaN",         "[1,]",
                           "{'a': 1}",    "1 2",
                           "\"\xff\"",    "[1e999]",
                           "// x\n1",     "\"a",
                           "\"\t\"",      "\"\\x\"",
                           "\"\\u12g4\"", "\"\\ud800\"",
                           "\"\\udc00\"", "\"\\ud800\\u0041\"",
                           "{\"a\" 1}",   "{1: 2}",
                           "[1 2]",       "01",
                           "-",           "1.",
                           "tru",         "\"\xed\xa0\x80\"",
                           "\"\xc0\x80\""}) {
    EXPECT_THAT(message_of([&] { parse_json(text, "t"); }), HasSubstr("not JSON")) << text;
  }
}

TEST(ParseJson, DecodesEscapesAndSkipsAByteOrderMark) {
  EXPECT_EQ(parse_json(R"("\"\\\/\b\f\n\r\t\u00e9\u20ac\ud83d\ude00")", "t").string(), "\"\\/\b\f\n\r\té€😀");
  EXPECT_EQ(parse_json(R"({"\u0061é": "\u0000"})", "t").at("aé").string(), std::string(1, '\0'));
  EXPECT_EQ(parse_json("\xEF\xBB\xBF[1]", "t").at(0), 1);
  EXPECT_THAT(message_of([] { parse_json("[\"ok\", \"\\ud800\"]", "t"); }),
              StartsWith("t: not JSON at byte 7: "));
}

TEST(JsonReader, AcceptsTheWordsForNumbersThatItIsTold) {
  const std::string text = R"([-1, NaN, -Infinity, "NaN"])";
  JsonReader strict(text, "t");
  EXPECT_THAT(message_of([&] { strict.value(); }), StartsWith("t: not JSON at byte 5: "));
  JsonReader reader(text, "t");
  reader.accept_numbers({"NaN", "-Infinity"});
  const Json value = reader.value();
  reader.finish();
  EXPECT_TRUE(std::isnan(value.at(1).get<double>()));
  EXPECT_EQ(value.at(2).get<double>(), -std::numeric_limits<double>::infinity());
  EXPECT_EQ(value.at(3).string(), "NaN");
}

TEST(ParseJson, KeepsItsMessageShortOnALongToken) {
  const std::string text = "\"" + std::string(100000, 'x');
  EXPECT_LT(message_of([&] { parse_json(text, "t"); }).size(), 500U);
}

TEST(JsonMembers, GiveTheirValues) {
  const Json object = parse_json(R"({"n": 2, "s": "x", "b": true, "a": [1], "null": null})", "t");
  EXPECT_EQ(json_number(object, "n", "t"), 2.0);
  EXPECT_EQ(json_string(object, "s", "t"), "x");
  EXPECT_TRUE(json_bool(object, "b", "t"));
  EXPECT_EQ(json_array(object, "a", "t").size(), 1U);
  EXPECT_EQ(json_member(object, "n", "t"), 2);
  EXPECT_EQ(json_number_or(object, "gone", 3, "t"), 3.0);
  EXPECT_EQ(json_number_or(object, "null", 4, "t"), 4.0);
  EXPECT_EQ(json_string_or(object, "gone", "d", "t"), "d");
}

TEST(JsonMembers, NameThePathOfWhatIsWrong) {
  const Json object = parse_json(R"({"name": 5, "list": {}})", "t");
  const std::string where = "r.json: /records/3/metric";
  EXPECT_EQ(message_of([&] { json_string(object, "name", where); }),
            "r.json: /records/3/metric/name: expected a string, found a number");
  EXPECT_EQ(message_of([&] { json_string_or(object, "name", "", where); }),
            "r.json: /records/3/metric/name: expected a string, found a number");
  EXPECT_EQ(message_of([&] { json_array(object, "list", where); }),
            "r.json: /records/3/metric/list: expected an array, found an object");
  EXPECT_EQ(message_of([&] { json_number(object, "value", where); }),
            "r.json: /records/3/metric/value: missing; expected a number");
  EXPECT_EQ(message_of([&] { json_bool(parse_json("[]", "t"), "x", where); }),
            "r.json: /records/3/metric: expected an object, found an array");
}

TEST(DumpJson, IsStrict) {
  const Json value{{"nan", std::nan("")}, {"inf", std::numeric_limits<double>::infinity()}, {"s", "a\xff"}};
  EXPECT_EQ(dump_json(value), "{\"nan\":null,\"inf\":null,\"s\":\"a\xEF\xBF\xBD\"}");
  EXPECT_EQ(dump_json_pretty(Json{{"a", 1}}), "{\n  \"a\": 1\n}");
}

TEST(JsonString, EscapesWhatItMust) {
  const std::string text = "a\"\\/\b\f\n\r\t\x01\x7fé€😀\xff\xe2\x82";
  const auto written = [&](JsonText form) {
    std::string out = ">";
    append_json_string(out, text, form);
    return out;
  };
  const std::string start = R"(>"a\"\\/\b\f\n\r\t\u0001)";
  EXPECT_EQ(written(JsonText::kUtf8), start + "\x7fé€😀\uFFFD\uFFFD\uFFFD\"");
  EXPECT_EQ(written(JsonText::kAsIs), start + "\x7fé€😀\xff\xe2\x82\"");
  EXPECT_EQ(written(JsonText::kAscii), start + R"(\u007f\u00e9\u20ac\ud83d\ude00\ufffd\ufffd\ufffd")");
}

TEST(DumpJson, KeepsDoublesExactly) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, 123456789.123456789}) {
    EXPECT_EQ(parse_json(dump_json(Json(value)), "t").get<double>(), value);
  }
}

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
  const std::string text = "[1,23]";
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_FALSE(taken<std::vector<int>>(text.substr(0, size)));
  const std::string number = "12";
  JsonCursor cursor(number.c_str(), number.c_str() + number.size());
  int value = 0;
  EXPECT_TRUE(json_take(cursor, value));
  EXPECT_TRUE(cursor.is_at_end()) << "so that who reads a window knows that the number may go on";
}

TEST(JsonValue, BracedListsAreObjectsWhereEveryItemIsAKeyAndAValue) {
  const Json object{{"a", 1}, {"b", {1, 2.5, "x"}}, {"c", {{"d", nullptr}}}};
  EXPECT_EQ(dump_json(object), R"({"a":1,"b":[1,2.5,"x"],"c":{"d":null}})");
  EXPECT_EQ(dump_json(Json::array({"a", "b"})), R"(["a","b"])");
  EXPECT_EQ(dump_json(Json::array()), "[]");
  EXPECT_EQ(dump_json(Json::object()), "{}");
}

TEST(JsonValue, KeysKeepTheirOrderAndOfEqualOnesTheLastCounts) {
  EXPECT_EQ(dump_json(parse_json(R"({"z": 1, "a": 2, "z": 3})", "t")), R"({"z":3,"a":2})");
}

TEST(JsonValue, WhatIsWrittenIsReadAsTheSame) {
  for (const char* text :
       {"0", "-1", "18446744073709551615", "-9223372036854775808", "1.0", "1e-7", "1e+16", "0.1",
        "123456789012345.6", "-0.0", "true", "null", R"("\u0001\"\\")", "[[],{},[1]]"}) {
    const Json value = parse_json(text, "t");
    EXPECT_EQ(parse_json(dump_json(value), "again"), value) << text;
  }
  EXPECT_EQ(dump_json(1.0), "1.0") << "a real stays one";
  EXPECT_EQ(dump_json(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(dump_json("\xff"), "\"\xef\xbf\xbd\"") << "invalid UTF-8 becomes U+FFFD";
  EXPECT_EQ(dump_json_ascii("\xc3\xa4"), R"("\u00e4")");
}

TEST(JsonValue, AWholeNumberIsGivenWhereItFits) {
  EXPECT_EQ(parse_json("255", "t").get<std::uint8_t>(), 255);
  EXPECT_THROW(parse_json("256", "t").get<std::uint8_t>(), JsonError);
  EXPECT_THROW(parse_json("-1", "t").get<std::uint64_t>(), JsonError);
  EXPECT_THROW(parse_json("-129", "t").get<std::int8_t>(), JsonError);
  EXPECT_THROW(parse_json("1e300", "t").get<std::int64_t>(), JsonError);
  EXPECT_EQ(parse_json("-9223372036854775808", "t").get<std::int64_t>(),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(parse_json("2.9", "t").get<int>(), 2);
}

TEST(JsonValue, WhatIsSomethingElseIsRefused) {
  const Json value = parse_json(R"({"a": [1]})", "t");
  EXPECT_THROW(value["a"].get<double>(), JsonError);
  EXPECT_THROW(value.at("b"), JsonError);
  EXPECT_THROW(value["a"].at(1), JsonError);
  EXPECT_THROW(value.elements(), JsonError);
  EXPECT_EQ(value.value("b", 7), 7);
  EXPECT_EQ(Json().size(), 0U);
}

TEST(JsonValue, APointerLeadsToAValue) {
  const Json value = parse_json(R"({"a/b": {"~": [10, 20]}})", "t");
  EXPECT_EQ(*json_at(value, "/a~1b/~0/1"), 20);
  EXPECT_EQ(json_at(value, "/a~1b/~0/2"), nullptr);
  EXPECT_EQ(json_at(value, "/a~1b/~0/01"), nullptr);
  EXPECT_EQ(json_at(value, ""), &value);
  EXPECT_THROW(json_at(value, "a"), Error);
  EXPECT_THROW(json_at(value, "/~2"), Error);
}

TEST(JsonText, WhatIsNestedTooDeepIsRefused) {
  const std::string deep(100'000, '[');
  EXPECT_THROW(parse_json(deep + std::string(100'000, ']'), "t"), Error);
  EXPECT_FALSE(is_json(deep));
  EXPECT_TRUE(is_json(std::string(500, '[') + std::string(500, ']')));
  EXPECT_FALSE(is_json(std::string(501, '[') + std::string(501, ']')));
}

}  // namespace
}  // namespace headroom
