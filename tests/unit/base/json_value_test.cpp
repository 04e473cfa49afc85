// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/json_value.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>
#include <vector>

#include "headroom/base/error.h"
#include "headroom/base/json.h"

namespace headroom {
namespace {

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
}

}  // namespace
}  // namespace headroom
