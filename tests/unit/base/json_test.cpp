// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "../error_message.h"

namespace headroom {
namespace {

using test::message_of;
using testing::HasSubstr;
using testing::StartsWith;

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(dump_json(parse_json(R"({"z": 1, "a": [true, null]})", "t")), R"({"z":1,"a":[true,null]})");
}

TEST(ParseJson, TellsTheByteOffset) {
  EXPECT_THAT(message_of([] { parse_json("{\"a\": 1,\n \"b\": x}", "r.json"); }),
              StartsWith("r.json: not JSON at byte 16: "));
  EXPECT_THAT(message_of([] { parse_json("", "r.json"); }), StartsWith("r.json: not JSON at byte 1: "));
}

TEST(ParseJson, RefusesWhatStrictJsonRefuses) {
  for (const char* text : {"NaN", "[1,]", "{'a': 1}", "1 2", "\"\xff\"", "[1e999]", "// x\n1"}) {
    EXPECT_THAT(message_of([&] { parse_json(text, "t"); }), HasSubstr("not JSON")) << text;
  }
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

TEST(DumpJson, KeepsDoublesExactly) {
  for (const double value : {0.1, 1.0 / 3, 1e-300, 123456789.123456789}) {
    EXPECT_EQ(parse_json(dump_json(Json(value)), "t").get<double>(), value);
  }
}

}  // namespace
}  // namespace headroom
