// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/table.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace headroom {
namespace {

TEST(Table, AlignsByWhatIsSeenNotByBytes) {
  Table table({{"case"}, {"time", Align::kRight}, {"note"}});
  table.row({"a", "4.10 µs", "x"}).row({"longer", "12 ms"}).row({"±", "1 s", ""});
  EXPECT_EQ(table.text(),
            "case       time  note\n"
            "─────────────────────\n"
            "a       4.10 µs  x\n"
            "longer    12 ms\n"
            "±           1 s\n");
}

TEST(Table, HasRulesAndLinesThatWidenNothing) {
  Table table({{"a"}, {"b", Align::kRight}});
  table.row({"1", "2"}).rule().line("a remark wider than the table").row({"3", "4"});
  EXPECT_EQ(table.text(),
            "a  b\n"
            "────\n"
            "1  2\n"
            "────\n"
            "a remark wider than the table\n"
            "3  4\n");
}

Table measured(const std::string& name) {
  Table table({{"case"}, {"backend"}, {"time", Align::kRight}, {"n", Align::kRight}, {"metric"}, {"marks"}},
              2);
  table.row({name, "native", "4.10 µs", "20", "98.3 GB/s", "S"})
      .line("    1.03 x the time of something else");
  table.row({"mlp", "aten", "12.0 µs", "200", "9.3 GB/s"});
  return table;
}

TEST(Table, AsWideAsTheTerminalIsAsItWouldBeInAFile) {
  const std::string whole = measured("gemv").text();
  EXPECT_EQ(measured("gemv").text(45), whole) << "the rule is 45 wide";
  EXPECT_NE(measured("gemv").text(44), whole);
  EXPECT_EQ(measured("gemv").as({false, 0}), whole);
  EXPECT_EQ(measured("gemv").as({true, 20}), measured("gemv").markdown()) << "a file has no width";
}

TEST(Table, WhatIsLongInTheFirstColumnStandsAboveItsRow) {
  EXPECT_EQ(measured("sort --parallel 4 file").text(46),
            "case  backend     time    n  metric     marks\n"
            "─────────────────────────────────────────────\n"
            "sort --parallel 4 file\n"
            "      native   4.10 µs   20  98.3 GB/s  S\n"
            "    1.03 x the time of something else\n"
            "mlp   aten     12.0 µs  200  9.3 GB/s\n");
}

TEST(Table, OnANarrowTerminalIsInBlocksThatLeaveNothingOut) {
  EXPECT_EQ(measured("gemv").text(30),
            "case  backend     time    n\n"
            "───────────────────────────\n"
            "gemv  native   4.10 µs   20\n"
            "    1.03 x the time of something else\n"
            "mlp   aten     12.0 µs  200\n"
            "\n"
            "case  backend  metric\n"
            "────────────────────────\n"
            "gemv  native   98.3 GB/s\n"
            "mlp   aten     9.3 GB/s\n"
            "\n"
            "case  backend  marks\n"
            "────────────────────\n"
            "gemv  native   S\n"
            "mlp   aten\n");
}

TEST(Table, OfOneColumnOrNoWidthAtAllIsShownAllTheSame) {
  Table table({{"a title"}});
  table.row({"some text that is long"});
  EXPECT_EQ(table.text(10), "a title\n───────\nsome text that is long\n");
  EXPECT_EQ(Table({}).text(1), "\n\n");
  EXPECT_FALSE(measured("gemv").text(1).empty());
}

TEST(Table, KeepsEachRowOnOneLine) {
  Table table({{"a"}});
  table.row({"x\ny\tz"});
  EXPECT_EQ(table.text(), "a\n─────\nx y z\n");
}

TEST(Table, RefusesMoreCellsThanColumns) {
  Table table({{"a"}});
  EXPECT_THROW(table.row({"1", "2"}), std::logic_error);
}

TEST(Table, WritesMarkdown) {
  Table table({{"case"}, {"x|y", Align::kRight}});
  table.row({"a|b", "1"}).rule().line("remark").row({"c"});
  EXPECT_EQ(table.markdown(),
            "| case | x\\|y |\n"
            "| --- | ---: |\n"
            "| a\\|b | 1 |\n"
            "| remark |  |\n"
            "| c |  |\n");
}

}  // namespace
}  // namespace headroom
