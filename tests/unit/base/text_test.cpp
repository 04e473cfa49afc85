// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <cmath>

#include "../error_message.h"
#include "headroom/base/secrets.h"
#include "headroom/base/text.h"
#include "headroom/base/units.h"

namespace headroom {
namespace {

using namespace testing;

const std::vector<std::string> kNames{"gemv", "gather_gemv", "layer_norm", "mlp_layer_norm_gelu"};

TEST(InQuotes, ShowsControlCharacters) {
  EXPECT_EQ(quote("a\nb\x1b[0m"), "'a\\x0Ab\\x1B[0m'");
  EXPECT_EQ(quote("µs"), "'µs'");
}

TEST(Visible, SpellsWhatSteersATerminal) {
  EXPECT_EQ(visible("a\x1b]0;owned\x07\x1b[31m\r\x7f"), "a\\x1B]0;owned\\x07\\x1B[31m\\x0D\\x7F");
  EXPECT_EQ(visible("\xC2\x9B"
                    "31m"),
            "\\u009B31m")
      << "CSI in one character";
  EXPECT_EQ(visible(std::string("nul\0!", 5)), "nul\\x00!");
}

TEST(Visible, SpellsWhatTurnsTheDirectionOfWriting) {
  EXPECT_EQ(visible("a\u202Eb\u2066c\u200Fd\u061Ce\u2028f"), "a\\u202Eb\\u2066c\\u200Fd\\u061Ce\\u2028f");
}

TEST(Visible, SpellsBytesThatAreNoUtf8) {
  EXPECT_EQ(visible("a\xFF\xC3(\xE2\x82"), "a\\xFF\\xC3(\\xE2\\x82");
}

TEST(Visible, LeavesTextAsItIs) {
  const std::string text = "12.5 µs ± 1 % ─ 漢字 😀 é \u00A0|\n\tdone";
  EXPECT_EQ(visible(text), text);
  EXPECT_EQ(visible(""), "");
}

TEST(Split, KeepsEmptyParts) {
  EXPECT_THAT(split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Join, PutsTheSeparatorBetween) {
  EXPECT_EQ(join(std::vector<std::string>{"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
}

TEST(Trimmed, CutsBothEnds) {
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
}

TEST(Nearest, FindsTypingErrorsAndPrefixes) {
  EXPECT_THAT(nearest("gmev", kNames), ElementsAre("gemv"));
  EXPECT_THAT(nearest("Layer-Norm", kNames), ElementsAre("layer_norm"));
  EXPECT_THAT(nearest("mlp", kNames), ElementsAre("mlp_layer_norm_gelu"));
  EXPECT_THAT(nearest("softmax", kNames), IsEmpty());
  EXPECT_THAT(nearest("", kNames), IsEmpty());
}

TEST(Nearest, PutsTheNearestFirstAndStopsAtTheCount) {
  const std::vector<std::string> names{"abcxyy", "abcdef", "abcdex", "abcdee"};
  EXPECT_THAT(nearest("abcdef", names, 2), ElementsAre("abcdef", "abcdex"));
}

TEST(DidYouMean, JoinsTheNames) {
  EXPECT_EQ(did_you_mean("gem", kNames), "; did you mean 'gemv'?");
  EXPECT_EQ(did_you_mean("ab", std::vector<std::string>{"abc", "abd", "abe"}),
            "; did you mean 'abc', 'abd' or 'abe'?");
  EXPECT_EQ(did_you_mean("softmax", kNames), "");
}

TEST(ToInteger, WantsTheWholeText) {
  EXPECT_EQ(to_integer("-12"), -12);
  for (const char* text : {"", "1x", " 1", "1.0", "9223372036854775808"})
    EXPECT_FALSE(to_integer(text)) << text;
}

TEST(ToNumber, WantsTheWholeTextAndAFiniteNumber) {
  EXPECT_EQ(to_number("-1.5e3"), -1500.0);
  for (const char* text : {"", "1,5", "1 ", "nan", "inf", "1e999"}) EXPECT_FALSE(to_number(text)) << text;
}

TEST(CharacterCount, CountsCharactersNotBytes) {
  EXPECT_EQ(character_count("abc"), 3U);
  EXPECT_EQ(character_count("±µ─"), 3U);
}

TEST(FormatNumber, KeepsThreeSignificantDigits) {
  EXPECT_EQ(format_number(0.00123), "0.00123");
  EXPECT_EQ(format_number(4.1), "4.10");
  EXPECT_EQ(format_number(98.26), "98.3");
  EXPECT_EQ(format_number(12345), "12300");
  EXPECT_EQ(format_number(-0.5), "-0.500");
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(9.996), "10.0");
  EXPECT_EQ(format_number(999.6), "1000");
  EXPECT_EQ(format_number(1.5e20), "1.50e+20");
  EXPECT_EQ(format_number(1.5e-9), "1.50e-09");
}

TEST(FormatNumber, NamesWhatIsNotFinite) {
  EXPECT_EQ(format_number(std::nan("")), "nan");
  EXPECT_EQ(format_number(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(FormatTime, ChoosesTheUnitAfterRounding) {
  EXPECT_EQ(format_time_ns(812), "812 ns");
  EXPECT_EQ(format_time_ns(0.4), "0.400 ns");
  EXPECT_EQ(format_time_ns(4100), "4.10 µs");
  EXPECT_EQ(format_time_ns(1.25e6), "1.25 ms");
  EXPECT_EQ(format_time_ns(2e9), "2.00 s");
  EXPECT_EQ(format_time_ns(999.7), "1.00 µs");
  EXPECT_EQ(format_time_ns(999.7e6), "1.00 s");
  EXPECT_EQ(format_time_ns(3600e9), "3600 s");
  EXPECT_EQ(format_time_ns(0), "0 ns");
}

TEST(FormatBytes, UsesBinaryUnits) {
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(32 * 1048576.0), "32 MiB");
  EXPECT_EQ(format_bytes(1023.5 * 1024), "1024 KiB");
  EXPECT_EQ(format_bytes(0), "0 B");
}

TEST(FormatPercent, ScalesAShare) {
  EXPECT_EQ(format_percent(0.9234), "92.3 %");
  EXPECT_EQ(format_percent(1), "100 %");
}

TEST(ParseTime, TakesEveryUnit) {
  EXPECT_DOUBLE_EQ(parse_time_ns("500ms"), 500e6);
  EXPECT_DOUBLE_EQ(parse_time_ns(" 1.5 min "), 90e9);
  EXPECT_DOUBLE_EQ(parse_time_ns("10us"), 10e3);
  EXPECT_DOUBLE_EQ(parse_time_ns("10µs"), 10e3);
  EXPECT_DOUBLE_EQ(parse_time_ns("2"), 2e9);
  EXPECT_DOUBLE_EQ(parse_time_ns("0.5s"), 5e8);
  for (const char* text : {"", "s", "1 parsec", "-1s", "nan", "1s2", "inf s"}) {
    EXPECT_THROW(parse_time_ns(text), Error) << text;
  }
}

TEST(ParseShare, TakesPercentAndShare) {
  EXPECT_DOUBLE_EQ(parse_share("1%"), 0.01);
  EXPECT_DOUBLE_EQ(parse_share("0.5 %"), 0.005);
  EXPECT_DOUBLE_EQ(parse_share("0.01"), 0.01);
  EXPECT_DOUBLE_EQ(parse_share("300%"), 3);
  EXPECT_DOUBLE_EQ(parse_share("1"), 1);
  for (const char* text : {"", "%", "-1%", "1%%", "a", "3", "1.01"})
    EXPECT_THROW(parse_share(text), Error) << text;
}

TEST(ParseBytes, TakesBinaryMultiples) {
  EXPECT_EQ(parse_bytes("4096"), 4096);
  EXPECT_EQ(parse_bytes("64K"), 65536);
  EXPECT_EQ(parse_bytes("32MiB"), 32LL << 20);
  EXPECT_EQ(parse_bytes("1.5 G"), 3LL << 29);
  for (const char* text : {"", "K", "0.3", "-1", "9000000T", "1Q"}) {
    EXPECT_THROW(parse_bytes(text), Error) << text;
  }
}

TEST(Secrets, AreKnownByTheirNames) {
  for (const char* name :
       {"--password", "--db-password", "PGPASSWORD_FILE_PASSWORD", "AWS_SECRET_ACCESS_KEY", "apiKey",
        "--api-key", "GITHUB_TOKEN", "token", "--hf-token", "MYSQL_PWD", "private_key", "Secret"})
    EXPECT_TRUE(is_secret_name(name)) << name;
  for (const char* name : {"--max-new-tokens", "tokens", "token_ids_of", "--precision", "--key", "passes",
                           "--passes", "D", "keyboard", "", "-"})
    EXPECT_EQ(is_secret_name(name), std::string_view(name) == "token_ids_of") << name;
}

TEST(Secrets, AreHiddenInWords) {
  EXPECT_THAT(redact_secrets(std::vector<std::string>{"run", "--store", "postgresql://me:pa:ss@host/db?x=1",
                                                      "--token", "abc", "--password=x y",
                                                      "DB_PASSWORD=hunter2", "-a", "D=1024"}),
              ElementsAre("run", "--store", "postgresql://me:***@host/db?x=1", "--token", "***",
                          "--password=***", "DB_PASSWORD=***", "-a", "D=1024"));
  EXPECT_THAT(
      redact_secrets(std::vector<std::string>{"postgresql://host/db?user=me&password=x&sslmode=require"}),
      ElementsAre("postgresql://host/db?user=me&password=***&sslmode=require"));
  EXPECT_THAT(redact_secrets(std::vector<std::string>{"curl", "-H", "Authorization: Bearer abc.def"}),
              ElementsAre("curl", "-H", "Authorization: Bearer ***"));
  EXPECT_THAT(redact_secrets(std::vector<std::string>{"--token", "--verbose", "x"}),
              ElementsAre("--token", "--verbose", "x"));
  EXPECT_THAT(redact_secrets(std::vector<std::string>{"--token"}), ElementsAre("--token"));
}

TEST(Secrets, AreHiddenInLines) {
  EXPECT_EQ(redact_secrets("API_KEY='a b' prog --secret x  --n 5"), "API_KEY='***' prog --secret ***  --n 5");
  EXPECT_EQ(redact_secrets("curl -H 'Authorization: Bearer abc' http://a:b@c/d e@f"),
            "curl -H 'Authorization: Bearer ***' http://a:***@c/d e@f");
  EXPECT_EQ(redact_secrets("env PGPASSWORD=x psql"), "env PGPASSWORD=*** psql");
}

TEST(Secrets, WhatIsNoneStays) {
  const std::string line = "prog --tokens 128 -a D=1024 http://host:8080/x me@host key=5 a=b=c 'x y'";
  EXPECT_EQ(redact_secrets(line), line);
  EXPECT_EQ(redact_secrets(""), "");
}

TEST(WithContext, PutsTheContextInFront) {
  const auto fails = [] { throw Error("line 3: no value"); };
  EXPECT_EQ(test::message_of([&] { with_context("reading 'a.toml'", fails); }),
            "reading 'a.toml': line 3: no value");
}

TEST(WithContext, GivesBackWhatTheBodyGives) {
  int value = 7;
  int& reference = with_context("x", [&]() -> int& { return value; });
  reference = 8;
  EXPECT_EQ(value, 8);
}

TEST(WithContext, LeavesOtherExceptionsAlone) {
  EXPECT_THROW(with_context("x", [] { throw std::logic_error("a defect"); }), std::logic_error);
}

}  // namespace
}  // namespace headroom
