// SPDX-License-Identifier: Apache-2.0
#include "headroom/ranks/ddp/python_text.h"

#include <gtest/gtest.h>

#include <cmath>

#include "headroom/base/error.h"

namespace headroom {
namespace {

// Every expected text here is what CPython 3.11 prints.

std::string str(const std::string& json) {
  const PaddedText text(json);
  JsonStream stream(text, "test");
  stream.accept_python_numbers();
  std::string printed = python_str(stream);
  stream.finish();
  return printed;
}

TEST(PythonStr, OfScalars) {
  EXPECT_EQ(str("null"), "None");
  EXPECT_EQ(str("true"), "True");
  EXPECT_EQ(str("\"it's\""), "it's");
  EXPECT_EQ(str("-0"), "0");
  EXPECT_EQ(str("123456789012345678901234567890"), "123456789012345678901234567890");
}

TEST(PythonStr, OfNumbersThatOnlyPythonWrites) {
  EXPECT_EQ(str("[NaN, Infinity, -Infinity, 1E400, -1e999, 1e5]"), "[nan, inf, -inf, inf, -inf, 100000.0]");
  EXPECT_EQ(str("NaN"), "nan");
}

TEST(PythonFixed, PadsWhatIsNoNumberToo) {
  EXPECT_EQ(python_fixed(0.25, 8, 3, false), "   0.250");
  EXPECT_EQ(python_fixed(-0.04, 8, 1, true), "    -0.0");
  EXPECT_EQ(python_fixed(-INFINITY, 8, 1, true), "    -inf");
  EXPECT_EQ(python_fixed(NAN, 8, 1, true), "    +nan");
  EXPECT_EQ(python_fixed(INFINITY, 8, 3, false), "     inf");
}

TEST(PythonStr, OfNestedValues) {
  EXPECT_EQ(str(R"({"a": [1, 2.5, "x"], "b": {"c": null}})"), "{'a': [1, 2.5, 'x'], 'b': {'c': None}}");
  EXPECT_EQ(str("[]"), "[]");
  EXPECT_EQ(str("{}"), "{}");
}

TEST(PythonStr, KeepsTheLastOfEqualKeysInTheFirstPlace) {
  EXPECT_EQ(str(R"({"a": 1, "b": 2, "a": [3]})"), "{'a': [3], 'b': 2}");
}

TEST(PythonStr, RefusesWhatIsNotJson) {
  EXPECT_THROW(str("[1,"), Error);
  EXPECT_THROW(str("Nan"), Error);
  EXPECT_THROW(str("-Inf"), Error);
  EXPECT_THROW(str(std::string(5000, '[')), Error);
}

TEST(PythonFloat, IsTheShortestThatReadsBack) {
  EXPECT_EQ(python_float(0.1), "0.1");
  EXPECT_EQ(python_float(1), "1.0");
  EXPECT_EQ(python_float(-0.0), "-0.0");
  EXPECT_EQ(python_float(1e15), "1000000000000000.0");
  EXPECT_EQ(python_float(1e16), "1e+16");
  EXPECT_EQ(python_float(0.0001), "0.0001");
  EXPECT_EQ(python_float(0.00001), "1e-05");
  EXPECT_EQ(python_float(1.5e300), "1.5e+300");
  EXPECT_EQ(python_float(5e-324), "5e-324");
  EXPECT_EQ(python_float(123456789012345.67), "123456789012345.67");
}

TEST(PythonQuoted, ChoosesTheQuote) {
  EXPECT_EQ(python_quoted("a"), "'a'");
  EXPECT_EQ(python_quoted("it's"), "\"it's\"");
  EXPECT_EQ(python_quoted("say \"x\""), "'say \"x\"'");
  EXPECT_EQ(python_quoted("'\""), "'\\'\"'");
}

TEST(PythonQuoted, EscapesWhatDoesNotPrint) {
  EXPECT_EQ(python_quoted("\t\n\r\\\x01\x7f"), "'\\t\\n\\r\\\\\\x01\\x7f'");
  EXPECT_EQ(python_quoted("é日😀"), "'é日😀'");
  EXPECT_EQ(python_quoted("\u00a0\u00ad\u200b\U000e0001"), "'\\xa0\\xad\\u200b\\U000e0001'");
}

TEST(PythonPadded, CountsCodePoints) {
  EXPECT_EQ(python_padded("é", 3, true), "  é");
  EXPECT_EQ(python_padded("日本", 4, false), "日本  ");
  EXPECT_EQ(python_padded("long", 2, true), "long");
}

}  // namespace
}  // namespace headroom
