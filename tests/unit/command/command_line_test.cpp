// SPDX-License-Identifier: Apache-2.0
#include "headroom/command/command_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../error_message.h"
#include "headroom/base/text.h"
#include "headroom/command/measured_command.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal_of_line(std::string_view line) {
  return test::message_of([&] { split_command_line(line); });
}

TEST(CommandLine, SplitsAtBlanksAndReadsQuotes) {
  EXPECT_THAT(split_command_line("  a  b\tc\n"), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split_command_line("a 'b  $c'\"d 'e'\"f"), ElementsAre("a", "b  $cd 'e'f"));
  EXPECT_THAT(split_command_line("a '' \"\""), ElementsAre("a", "", ""));
  EXPECT_THAT(split_command_line("a \\| b\\ c d\\\ne"), ElementsAre("a", "|", "b c", "de"));
  EXPECT_THAT(split_command_line("a \"\\$x \\n \\\" \\\\\""), ElementsAre("a", "$x \\n \" \\"));
  EXPECT_THAT(split_command_line("a b#c # rest | of it\n d"), ElementsAre("a", "b#c", "d"));
  EXPECT_THAT(split_command_line("env A=1 --b=2 {x}"), ElementsAre("env", "A=1", "--b=2", "{x}"));
}

TEST(CommandLine, IsWhatTheShellMakesOfIt) {
  for (const char* line : {"printf '%s|' a 'b c' d\\ e \"f 'g' \\\" \\\\ \\x\" '' h#i",
                           "printf '%s|' \"'\" '\"' '\\' \\'", "printf '%s|' a=b 'c'\"d\"e\\f # comment"}) {
    CommandSpec split, shell;
    split.arguments = split_command_line(line);
    shell.arguments = shell_arguments(line);
    split.output = shell.output = CommandSpec::Output::kCapture;
    EXPECT_EQ(run_command(split).output, run_command(shell).output) << line;
  }
}

TEST(CommandLine, SaysWhereAQuoteIsOpen) {
  EXPECT_THAT(refusal_of_line("echo 'a b"), HasSubstr("byte 6: this single quote is never closed"));
  EXPECT_THAT(refusal_of_line("echo a\"b"), HasSubstr("byte 7: this double quote is never closed"));
  EXPECT_THAT(refusal_of_line("echo a\\"), HasSubstr("byte 7: there is nothing after this backslash"));
  for (const char* empty : {"", "  ", "# only a remark"})
    EXPECT_THAT(refusal_of_line(empty), HasSubstr("no command"));
}

TEST(CommandLine, RefusesWhatOnlyAShellCanDo) {
  for (const char* line : {"a | b", "a > b", "a; b", "a && b", "echo $HOME", "echo \"$HOME\"", "echo `b`",
                           "ls *.c", "ls ?", "ls [ab]", "(a)", "A=1 b", "ls ~"}) {
    EXPECT_THAT(refusal_of_line(line), HasSubstr("--shell")) << line;
  }
  EXPECT_THAT(refusal_of_line("a | b"), HasSubstr("byte 3: '|'"));
}

TEST(CommandLine, QuotedWordsComeBack) {
  for (const std::string text : {"plain", "", "two words", "it's", "$HOME", "a\\b", "A=1", "#", "~"}) {
    EXPECT_THAT(split_command_line("x " + quoted_word(text)), ElementsAre("x", text));
    EXPECT_THAT(split_command_line(quoted_word("x" + text)), ElementsAre("x" + text));
  }
  EXPECT_EQ(quoted_word("a/b-c.d"), "a/b-c.d");
}

TEST(CommandLine, PlaceholdersAreReplacedOnceAndOthersStay) {
  EXPECT_EQ(with_placeholders("sort -n {n} {file}{n} '{print}' {", {{"n", "4"}, {"file", "{n}"}}),
            "sort -n 4 {n}4 '{print}' {");
  EXPECT_EQ(with_placeholders("", {{"n", "4"}}), "");
}

}  // namespace
}  // namespace headroom
