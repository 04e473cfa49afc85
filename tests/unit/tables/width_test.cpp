// SPDX-License-Identifier: Apache-2.0
#include "headroom/tables/width.h"

#include <gmock/gmock.h>

#include "headroom/tables/table.h"

namespace headroom {
namespace {

// Single clusters with their widths in columns.
const std::vector<std::pair<std::string, std::size_t>> kClusters{
    {"a", 1},
    {"µ", 1},
    {"─", 1},
    {"e\u0301", 1},        // combining acute
    {"o\u0302\u0323", 1},  // two marks
    {"中", 2},
    {"한", 2},
    {"\u1112\u1161\u11ab", 2},  // the same in jamo
    {"Ａ", 2},                  // full width
    {"🚀", 2},
    {"👍🏽", 2},                                      // with a skin tone
    {"👩\u200d👩\u200d👧\u200d👦", 2},                        // a family, joined
    {"🇩🇪", 2},                                            // a flag
    {"🏴\U000e0067\U000e0062\U000e0065\U000e007f", 2},  // a flag of tags
    {"❤", 1},
    {"❤\ufe0f", 2},        // as an emoji
    {"1\ufe0f\u20e3", 2},  // a keycap
    {"\t", 1},
    {"\x1b", 1},
    {"\xff", 1},
};

TEST(DisplayWidth, CountsColumnsOfClusters) {
  std::string all;
  std::size_t columns = 0;
  for (const auto& [text, width] : kClusters) {
    EXPECT_EQ(display_width(text), width) << text;
    EXPECT_EQ(display_width("x" + text + "y"), width + 2) << text;
    all += text + "-";
    columns += width + 1;
  }
  EXPECT_EQ(display_width(all), columns);
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("🇩🇪🇫🇷"), 4U) << "two flags, not four letters";
  EXPECT_EQ(display_width("a\u200b"), 1U) << "no width at all";
}

TEST(Shortened, CutsBetweenClusters) {
  for (const auto& [text, width] : kClusters) {
    const std::string name = "ab" + text + "cd";
    EXPECT_EQ(shortened(name, width + 4), name);
    EXPECT_EQ(shortened(name, width + 3), "ab" + text + "…");
    EXPECT_EQ(shortened(name, width + 2), "ab" + std::string(width == 0 ? text : "") + "…");
    EXPECT_EQ(first_columns(name, width + 1), "ab");
    EXPECT_EQ(last_columns(name, width + 2), text + "cd");
    EXPECT_EQ(last_columns(name, width + 1), "cd");
  }
  EXPECT_EQ(shortened("abc", 1), "…");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(last_columns("abc", 0), "");
  EXPECT_EQ(last_columns("", 3), "");
}

TEST(Table, AlignsNamesOfAllScripts) {
  for (const auto& [text, width] : kClusters) {
    if (text == "\t" || text == "\x1b" || text == "\xff") continue;  // shown as something else
    Table table({{"case"}, {"n", Align::kRight}});
    table.row({text, "1"}).row({"plain", "2"});
    EXPECT_THAT(table.text(),
                ::testing::HasSubstr("\n" + text + std::string(5 - width, ' ') + "  1\nplain  2\n"));
  }
}

TEST(CutInMiddle, KeepsBothEnds) {
  EXPECT_EQ(cut_in_middle("gemv", 4), "gemv");
  EXPECT_EQ(cut_in_middle("abcdefgh", 5), "ab…gh");
  EXPECT_EQ(cut_in_middle("abcdefgh", 4), "ab…h");
  EXPECT_EQ(cut_in_middle("abcdefgh", 1), "…");
  EXPECT_EQ(cut_in_middle("abcdefgh", 0), "");
  EXPECT_EQ(cut_in_middle("中文中文中文", 7), "中…文") << "whole characters";
}

}  // namespace
}  // namespace headroom
