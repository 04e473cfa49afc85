// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>

#include "../error_message.h"
#include "../packed_files.h"
#include "headroom/base/files.h"
#include "headroom/files/compressed_file.h"
#include "headroom/files/csv.h"
#include "headroom/files/json_stream.h"
#include "headroom/files/toml_document.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using namespace testing;
using trace::gzip_of;
using trace::zip_of;
using trace::zstd_of;

class CompressedFile : public testing::Test {
 protected:
  CompressedFile() : path_(fs::temp_directory_path() / ("headroom-packed-" + std::to_string(::getpid()))) {
    for (int i = 0; i < 400000; ++i) text_ += std::to_string(i) + ",";
  }
  ~CompressedFile() override { fs::remove(path_); }

  PaddedText read(const std::string& content, std::size_t max_bytes = kMaxFileBytes) {
    write_file_atomically(path_, content);
    return read_compressed_file(path_, max_bytes);
  }
  std::string refusal(const std::string& content, std::size_t max_bytes = kMaxFileBytes) {
    return test::message_of([&] { read(content, max_bytes); });
  }

  fs::path path_;
  std::string text_;
};

TEST_F(CompressedFile, IsUnpackedByItsContent) {
  EXPECT_EQ(read(text_).view(), text_);
  EXPECT_EQ(read(gzip_of(text_)).view(), text_);
  EXPECT_EQ(read(zstd_of(text_)).view(), text_);
  EXPECT_EQ(read(zip_of({{"a.json", text_}})).view(), text_);
  EXPECT_EQ(read("").view(), "");
  EXPECT_EQ(read(gzip_of("")).view(), "");
  EXPECT_EQ(read(zstd_of("")).view(), "");
}

TEST_F(CompressedFile, SeveralStreamsAreJoined) {
  EXPECT_EQ(read(gzip_of(text_) + gzip_of("x")).view(), text_ + "x");
  EXPECT_EQ(read(gzip_of(text_) + std::string(512, '\0')).view(), text_) << "padding";
  EXPECT_EQ(read(zstd_of(text_) + zstd_of("x")).view(), text_ + "x");
}

TEST_F(CompressedFile, HasRoomForWholeWords) {
  const PaddedText text = read(gzip_of("abc"));
  EXPECT_GE(text.capacity(), text.size() + PaddedText::kPadding);
  EXPECT_EQ(text.view().data()[text.size() + PaddedText::kPadding - 1], '\0');
}

TEST_F(CompressedFile, WhatIsCutOffOrDamagedIsRefused) {
  for (const std::string& packed : {gzip_of(text_), zstd_of(text_)}) {
    for (const std::size_t size : {std::size_t{12}, packed.size() / 2, packed.size() - 1}) {
      EXPECT_THAT(refusal(packed.substr(0, size)), HasSubstr("truncated")) << size;
    }
    std::string damaged = packed;
    damaged[packed.size() / 2] = static_cast<char>(damaged[packed.size() / 2] ^ 0x55);
    damaged[packed.size() - 6] = static_cast<char>(damaged[packed.size() - 6] ^ 0x55);
    EXPECT_NE(refusal(damaged), "nothing was thrown");
    EXPECT_THAT(refusal(packed + "rubbish"), HasSubstr("damaged"));
  }
}

TEST_F(CompressedFile, ALimitHoldsForBoth) {
  EXPECT_EQ(read(text_, text_.size()).view(), text_);
  EXPECT_THAT(refusal(text_, text_.size() - 1), HasSubstr("holds more than"));
  EXPECT_EQ(read(gzip_of(text_), text_.size()).view(), text_);
  EXPECT_THAT(refusal(gzip_of(text_), text_.size() - 1), HasSubstr("holds more than"));
  EXPECT_THAT(refusal(zstd_of(text_), 1000), HasSubstr("holds more than"));
}

TEST(EndlessDevice, IsRefusedByEveryReader) {
  EXPECT_THROW((void)read_file("/dev/zero"), Error);
  EXPECT_THROW((void)read_compressed_file("/dev/urandom"), Error);
  try {
    const JsonStream stream(std::filesystem::path("/dev/zero"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot read '/dev/zero': it is a device, which may never end; give a file or a pipe");
  }
}

TEST(EndlessDevice, FilesAndPipesAreNone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  EXPECT_NO_THROW(refuse_endless_device(ends[0], "pipe"));
  for (const int end : ends) ::close(end);
  EXPECT_EQ(read_file("/dev/null"), "");
  EXPECT_FALSE(read_file("/proc/self/status").empty());
}

TEST(EndlessDevice, ATerminalEndsWithCtrlD) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0) GTEST_SKIP() << "no pseudo terminal here";
  EXPECT_NO_THROW(refuse_endless_device(terminal, "terminal"));
  ::close(terminal);
}

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
  // As Python's csv.reader: [['a"b', 'cd']]
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

std::string refusal(std::string_view text) {
  try {
    refuse_impossible_toml(text, "a.toml");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TomlText, CharactersBeyondAsciiStandInStringsAndCommentsOnly) {
  EXPECT_EQ(refusal("\xEF\xBB\xBF# naïve\n\"naïve\" = 'naïve' # é\n"), "");
  EXPECT_EQ(refusal("a = \"\"\"é\n\\\"\"\" é\"\"\"\nb = '''é\n'é''''\nc = \"\\\"é\" # é\n"), "");
  EXPECT_THAT(refusal("a = 1\nnaïve = 2\n"), HasSubstr("a.toml: line 2, column 3: a non-ASCII character"));
  EXPECT_THAT(refusal("a = \"é\" é\n"), HasSubstr("line 1, column 9: "));
  EXPECT_THAT(refusal("[é]\n"), HasSubstr("line 1, column 2: "));
  EXPECT_THAT(refusal("a = \"\" é"), HasSubstr("line 1, column 8: "));
  EXPECT_THAT(refusal("a = '\\' é"), HasSubstr("line 1, column 9: "))
      << "a backslash is one in single quotes";
  EXPECT_THAT(refusal("a = \"\"\"é\"\"\"\"\"é"), HasSubstr("line 1, column 14: "))
      << "two quotes end with three";
  EXPECT_THAT(refusal("a = \"\n\xC3"), HasSubstr("line 2, column 1: ")) << "a string ends with its line";
}

TEST(TomlText, BackslashesAreBeforeAscii) {
  for (const char* text : {"a = \"\\é\"", "a = \"\"\"\\ é\"\"\"", "a = \"\"\"b \\\n  é\"\"\""})
    EXPECT_THAT(refusal(text), HasSubstr("a non-ASCII character after a backslash")) << text;
  EXPECT_EQ(refusal("a = '\\é'\nb = \"\"\"c \\\n  dé\"\"\""), "");
}

TEST(TomlText, HeadersHaveNames) {
  for (const char* text : {"[[\n", "[\n", "  [[ \n", "[[=", "[[[", "[#", "[\r\n", "a = 1\n[[\nb = 2\n"})
    EXPECT_THAT(refusal(text), HasSubstr("a header needs a name")) << text;
  EXPECT_THAT(refusal("a = [[\n1]]\n[[\n"), HasSubstr("line 3, column 3: "))
      << "brackets of a value are none";
  for (const char* text : {"[a]\n", "[[ a ]]", "[\"a\"]\n", "[-]\n", "[", "[[", "[]\n", "[ [a]]",
                           "a = [\n[[\n1]]]\nb = {c = [\n]}\n"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, BracketsCloseWhatTheyOpened) {
  EXPECT_THAT(refusal("a = [1, }\n"), HasSubstr("line 1, column 9: } where ] must close first"));
  EXPECT_THAT(refusal("a = {b = [1}]\n"), HasSubstr("line 1, column 12: } where ] must close first"));
  EXPECT_THAT(refusal("a = {b = 1]"), HasSubstr("] where } must close first"));
}

TEST(TomlText, StringsBeginByThemselves) {
  for (const char* text : {"a = 1\"é\"", "a = 1.\"é\"", "a = [1'é']", "a = {b = 1, c = 2'é'}", "a = 'b''é'",
                           "a = 2['é']", "a = [1{"})
    EXPECT_THAT(refusal(text), HasSubstr("in the middle of a value")) << text;
  for (const char* text : {"a.\"é\".'b' = {c.\"é\" = 'd',\"e\"=\"f\"}", "[a.\"é\"]", "a = ['é',\"é\"\n,'é']"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, ValuesHoldNoEqualsSign) {
  for (const char* text :
       {"a = 1='é'", "a = [b = 1]", "a = {b = 1} = 2", "a = {b = c = 1}", "[a]\nb = 1 = 2"})
    EXPECT_THAT(refusal(text), HasSubstr("= in the middle of a value")) << text;
  for (const char* text : {"a = {b = 1, c = {d = 2}, e = [{f = 3}, {g = 4}]}\nh = 5", "a = '=' # =\nb = 1"})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, DatesHaveTimesAfterTheirT) {
  for (const char* text : {"a = 1979-05-27T", "a = 1979-05-27t:07\n", "a = [1979-05-27T_07:32:00]"})
    EXPECT_THAT(refusal(text), HasSubstr("a date with T needs a time")) << text;
  for (const char* text : {"a = 1979-05-27 1,, \n", "a = 1979_-05-27 1", "a = [1abc-de-fg 1]", "a = 'b' 1"})
    EXPECT_THAT(refusal(text), HasSubstr("a digit after a value")) << text;
  for (const char* text : {"a = 1979-05-27 07:32:00", "a = [ 1, 2 , 3 ]\nb = 4", "a = 1979-05-27T07:32:00Z",
                           "a = 1979-05-27 # T", "aT = 1\n1-2T = 1", "a = \"1979-05-27T\""})
    EXPECT_EQ(refusal(text), "") << text;
}

TEST(TomlText, EndsAtTheEndOfAnything) {
  const std::string text = "[a]\nb = \"\"\"c\\\"\"\"\"\nd = '''e'''''\n# f\ng = [1, {h = \"\\i\"}]\n";
  for (std::size_t size = 0; size <= text.size(); ++size) EXPECT_EQ(refusal(text.substr(0, size)), "");
}

}  // namespace
}  // namespace headroom
