// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/csv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "headroom/base/error.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(ParseCsv, ReadsFieldsAndRows) {
  EXPECT_THAT(parse_csv("a,b\n1,\n,\n", "t"),
              ElementsAre(ElementsAre("a", "b"), ElementsAre("1", ""), ElementsAre("", "")));
}

TEST(ParseCsv, TakesEveryLineEndAndAMissingLastOne) {
  EXPECT_THAT(parse_csv("a\r\nb\rc\nd", "t"),
              ElementsAre(ElementsAre("a"), ElementsAre("b"), ElementsAre("c"), ElementsAre("d")));
}

TEST(ParseCsv, EmptyTextHasNoRowsAndABlankLineIsARowWithoutFields) {
  EXPECT_THAT(parse_csv("", "t"), IsEmpty());
  EXPECT_THAT(parse_csv("a\n\nb\n", "t"), ElementsAre(ElementsAre("a"), IsEmpty(), ElementsAre("b")));
}

TEST(ParseCsv, QuotedFieldsHoldSeparatorsQuotesAndLineEnds) {
  EXPECT_THAT(parse_csv("\"a,\"\"b\"\"\",\"x\ny\"\n\"\"\n", "t"),
              ElementsAre(ElementsAre("a,\"b\"", "x\ny"), ElementsAre("")));
}

TEST(ParseCsv, IsAsLenientAsPythonAboutQuotesInTheMiddle) {
  // python3 -c 'import csv; print(list(csv.reader(["a\"b,\"c\"d"])))' gives [['a"b', 'cd']]
  EXPECT_THAT(parse_csv("a\"b,\"c\"d\n", "t"), ElementsAre(ElementsAre("a\"b", "cd")));
}

TEST(ParseCsv, NamesTheLineOfAnUnterminatedQuote) {
  try {
    parse_csv("a,b\n\"x\ny\",2\n3,\"never\nends\n", "rows.csv");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("rows.csv: line 4"));
  }
}

TEST(CsvLine, QuotesOnlyWhatNeedsIt) {
  EXPECT_EQ(csv_line({"a b", "1,5", "say \"x\"", "l1\nl2", ""}),
            "a b,\"1,5\",\"say \"\"x\"\"\",\"l1\nl2\",\n");
  EXPECT_EQ(csv_line({""}), "\"\"\n");
  EXPECT_EQ(csv_line({}), "\n");
}

TEST(CsvLine, ReadsBackAsItWas) {
  const std::vector<CsvRow> rows{{"a", "", "\"", ",", "\r\n", "é"}, {""}, {}, {" x "}};
  std::string text;
  for (const CsvRow& row : rows) text += csv_line(row);
  EXPECT_EQ(parse_csv(text, "t"), rows);
}

}  // namespace
}  // namespace headroom
