// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "headroom/base/text.h"
#include "headroom/tables/table.h"
#include "headroom/tables/width.h"

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

TEST(Table, CutsLongKeysInTheMiddle) {
  EXPECT_EQ(measured("sort --parallel 4 files").text(62),
            "case                   backend     time    n  metric     marks\n"
            "──────────────────────────────────────────────────────────────\n"
            "sort --par…el 4 files  native   4.10 µs   20  98.3 GB/s  S\n"
            "    1.03 x the time of something else\n"
            "mlp                    aten     12.0 µs  200  9.3 GB/s\n");
  EXPECT_THAT(measured(std::string(30, 'a') + std::string(30, 'b')).text(61),
              ::testing::HasSubstr("aaaaaaaaaa…bbbbbbbbb  native"));
}

TEST(Table, LeavesOutWhatDoesNotFitAndNamesIt) {
  EXPECT_EQ(measured("gemv").text(30),
            "case  backend     time    n\n"
            "───────────────────────────\n"
            "gemv  native   4.10 µs   20\n"
            "    1.03 x the time of\n"
            "    something else\n"
            "mlp   aten     12.0 µs  200\n"
            "  left out: metric, marks;\n"
            "  COLUMNS=45 or | less -S\n"
            "  shows them\n");
}

Table prioritised(const std::string& name) {
  Table table(Columns()
                  .left({"case"})
                  .priority(Priority::kLast)
                  .right({"n"})
                  .priority(Priority::kNormal)
                  .right({"rate"})
                  .priority(Priority::kFirst)
                  .right({"time"})
                  .priority(Priority::kNormal)
                  .text("from"));
  return table.row({name, "12", "98.3 GB/s", "4.10 µs", "a file with a long name"});
}

TEST(Table, LeavesOutTheLeastImportantColumnsFirst) {
  EXPECT_THAT(prioritised("gemv").text(52), ::testing::StartsWith("case       rate     time  from\n"));
  EXPECT_THAT(prioritised("gemv").text(26), ::testing::StartsWith("case       rate     time\n"));
  EXPECT_THAT(prioritised("gemv").text(27), ::testing::HasSubstr("\n  left out: n, from;\n  COLUMNS=53 "));
  EXPECT_THAT(prioritised("gemv").text(16), ::testing::StartsWith("case     time\n"));
  EXPECT_THAT(prioritised("gemv").text(16), ::testing::HasSubstr("gemv  4.10 µs\n"));
}

TEST(Table, CutsKeysForANumberButNotForTheLeastImportant) {
  const std::string name = std::string(20, 'x') + std::string(20, 'y');
  const std::string text = prioritised(name).text(42);
  EXPECT_THAT(text, ::testing::HasSubstr("x…y"));
  EXPECT_THAT(text, ::testing::HasSubstr("  98.3 GB/s  4.10 µs\n"));
  EXPECT_THAT(text, ::testing::HasSubstr("left out: n, from"));
}

TEST(Table, AtAnyWidthHasWholeNumbersAndKeysThatFit) {
  for (std::size_t width = 1; width < 80; ++width) {
    const std::string text = prioritised("a_kernel_with_a_long_name").text(width);
    const std::vector<std::string> lines = split(text, '\n');
    EXPECT_THAT(lines[2], ::testing::StartsWith("a_k")) << width;
    const bool has_time = lines[2].find("µs") != std::string::npos;
    EXPECT_EQ(has_time, lines[2].find("4.10 µs") != std::string::npos) << width;
    for (std::size_t i = 0; i < 3 && width >= 8; ++i) EXPECT_LE(display_width(lines[i]), width);
  }
}

TEST(Table, OfOneColumnOrNoWidthAtAllIsShownAllTheSame) {
  Table table({{"a title"}});
  table.row({"some text that is long"});
  EXPECT_EQ(table.text(10), "a title\n──────────\nsome …long\n");
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

std::string as_shown(const std::string& line) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  std::string out;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() &&
        std::ispunct(static_cast<unsigned char>(line[i + 1])) != 0) {
      out += line[++i];
      continue;
    }
    const bool in_word = i > 0 && i + 1 < line.size() && is_word(line[i - 1]) && is_word(line[i + 1]);
    const bool is_markup = std::string("\\`*<>[]|~&").find(line[i]) != std::string::npos;
    EXPECT_FALSE(is_markup || (line[i] == '_' && !in_word) || (i == 0 && line[i] == '#')) << line;
    out += line[i];
  }
  return out;
}

const std::vector<std::string> kNamesWithMarkup{
    "Test<int>", "Test<long>", "*p",         "**kwargs", "__init__",      "_x_",    "a_b",  "a__b",
    "`sort`",    "a|b",        "a\\|b",      "\\",       "[x](http://y)", "~~x~~",  "&lt;", "<b>x</b>",
    "# 1",       "+ 1",        "<!-- x -->", "![x](y)",  "a > b",         "中<文>",
};

TEST(Table, EscapesMarkupInMarkdown) {
  for (const std::string& name : kNamesWithMarkup) {
    Table table({{name}, {"n"}});
    table.row({name, "1"}).row({"x", "2"});
    const std::string text = table.markdown();
    const std::string cell = text.substr(2, text.find(" | n |") - 2);
    EXPECT_EQ(as_shown(cell), name);
    EXPECT_EQ(text, "| " + cell + " | n |\n| --- | --- |\n| " + cell + " | 1 |\n| x | 2 |\n");
    EXPECT_EQ(table.text().find('\\') == std::string::npos, name.find('\\') == std::string::npos);
  }
  EXPECT_EQ(Table({{"layer_norm"}}).row({"a\nb\tc"}).markdown(), "| layer_norm |\n| --- |\n| a b c |\n");
}

TEST(View, EscapesMarkupInMarkdown) {
  for (const std::string& name : kNamesWithMarkup) {
    const std::string answer = View().answer(name).text({.markdown = true});
    EXPECT_EQ(as_shown(answer.substr(0, answer.size() - 3)), name);
    const std::string note = View().notes(name).text({.markdown = true});
    EXPECT_EQ(as_shown(note.substr(0, note.size() - 1)), name);
    const std::string title = View().title(name).text({.markdown = true});
    EXPECT_EQ(as_shown(title.substr(4, title.size() - 5)), name);
    EXPECT_EQ(View().drawing(name).text({.markdown = true}), "```\n" + name + "\n```\n");
  }
  EXPECT_EQ(View().drawing("```\n<b>").text({.markdown = true}), "````\n```\n<b>\n````\n");
  EXPECT_EQ(View().notes("- one\n- two").text({.markdown = true}), "- one\n- two\n") << "a list stays one";
}

TEST(Table, ShowsNoColumnThatSaysNothingAndOnceWhatAllRowsShare) {
  Table table(
      {{"case"}, {"backend", Align::kLeft, ""}, {"target"}, {"n", Align::kRight, "samples"}, {"time"}});
  table.row({"a", "native", "-", "30", "1"}).row({"b", "native", "", "30", "2"}).above("2 threads");
  EXPECT_EQ(table.text(), "native, 30 samples, 2 threads\ncase  time\n──────────\na     1\nb     2\n");
  EXPECT_THAT(table.markdown(), ::testing::StartsWith("native, 30 samples, 2 threads\n\n| case | time |\n"));
  table.row({"c", "aten", "80 %", "30", "3"});
  EXPECT_THAT(table.text(), ::testing::HasSubstr("case  backend  target  time")) << "they differ now";
}

TEST(Table, WhatAllRowsShareIsCountedAsOneOrMany) {
  const auto above = [](const std::string& count, const char* noun) {
    Table table({{"case"}, {"n", Align::kRight, noun}});
    const std::string text = table.row({"a", count}).text();
    return text.substr(0, text.find('\n'));
  };
  EXPECT_EQ(above("1", "samples"), "1 sample");
  EXPECT_EQ(above("0", "samples"), "no samples");
  EXPECT_EQ(above("11", "samples"), "11 samples");
  EXPECT_EQ(above("1", ""), "1");
  EXPECT_EQ(above("1 MiB", "data"), "1 MiB data");
}

TEST(Table, ColoursOnlyWhatIsTonedAndOnlyWhereAsked) {
  Table table({{"case"}, {"target"}});
  table.row({"a", "ok"}).tone(1, Tone::kGood).row({"b", "missed"}).tone(1, Tone::kBad);
  EXPECT_THAT(table.text(0, true), ::testing::AllOf(::testing::HasSubstr("a     \033[32mok\033[0m\n"),
                                                    ::testing::HasSubstr("\033[31mmissed\033[0m")));
  EXPECT_THAT(table.text(), ::testing::Not(::testing::HasSubstr("\033")));
}

TEST(View, SaysTheAnswerFirstThenTablesThenNotes) {
  Table table({{"case"}, {"time", Align::kRight}});
  table.row({"a", "1 s"});
  View view;
  view.title("times").table(table).notes("  B  busy\n").answer("a takes 1 s").table(Table({{"empty"}}));
  EXPECT_EQ(view.text(), "a takes 1 s\n\ntimes\ncase  time\n──────────\na      1 s\n  B  busy\n");
  EXPECT_EQ(view.text({.markdown = true}),
            "a takes 1 s  \n\n### times\n\n| case | time |\n| --- | ---: |\n| a | 1 s |\n\n  B  busy\n");
  EXPECT_EQ(view.answers(), std::vector<std::string>{"a takes 1 s"});
}

TEST(View, WrapsAtWordEndsBelowTheFirstWord) {
  EXPECT_EQ(View().notes("  B  one two three\n- four five\n").text({.width = 12}),
            "  B  one two\n     three\n- four five\n");
  EXPECT_EQ(View().answer("one two three").text({.width = 9}), "one two\nthree\n");
  EXPECT_EQ(View().answer("unbreakable").text({.width = 4}), "unbreakable\n");
  const std::string prose =
      View().answer(std::string(60, 'a') + " " + std::string(60, 'b')).text({.width = 200});
  EXPECT_EQ(prose.find('\n'), 60U) << "lines of prose are no wider than people read";
}

TEST(View, SpellsWhatCouldSteerATerminal) {
  const std::string text = View().answer("\033[2J").notes("\033]0;x").title("\x07").drawing("\033c").text();
  EXPECT_THAT(text,
              ::testing::Not(::testing::AnyOf(::testing::HasSubstr("\033"), ::testing::HasSubstr("\x07"))));
}

}  // namespace
}  // namespace headroom
