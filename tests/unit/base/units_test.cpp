// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/units.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "headroom/base/error.h"

namespace headroom {
namespace {

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

}  // namespace
}  // namespace headroom
