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
