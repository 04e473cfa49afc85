// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/line_ring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(LineRing, KeepsTheLastLines) {
  LineRing ring(3);
  ring.append("one\ntwo\nthree\nfour\nfive\n");
  EXPECT_THAT(ring.lines(), ElementsAre("three", "four", "five"));
  EXPECT_EQ(ring.total_bytes(), 24U);
}

TEST(LineRing, AnUnfinishedLineIsTheLastOne) {
  LineRing ring(3);
  ring.append("one\ntwo\nthree\nfo");
  EXPECT_THAT(ring.lines(), ElementsAre("two", "three", "fo"));
  ring.append("ur\n");
  EXPECT_THAT(ring.lines(), ElementsAre("two", "three", "four"));
}

TEST(LineRing, HowTheBytesAreCutIntoCallsMakesNoDifference) {
  const std::string text = "a\n\nlonger than eight\r\nb\rc\n€uro€uro\n\nlast";
  LineRing whole(4, 8);
  whole.append(text);
  for (std::size_t step = 1; step < text.size(); ++step) {
    LineRing pieces(4, 8);
    for (std::size_t at = 0; at < text.size(); at += step) pieces.append(text.substr(at, step));
    EXPECT_EQ(pieces.lines(), whole.lines()) << "in steps of " << step;
  }
  EXPECT_THAT(whole.lines(), ElementsAre("b\rc", "€uro…", "", "last"));
}

TEST(LineRing, EmptyLinesCount) {
  LineRing ring(3);
  ring.append("x\n\n\n");
  EXPECT_THAT(ring.lines(), ElementsAre("x", "", ""));
}

TEST(LineRing, LongLinesAreCutAtACharacter) {
  LineRing ring(2, 4);
  ring.append("abcd\nabcde\n");
  EXPECT_THAT(ring.lines(), ElementsAre("abcd", "abcd…"));
  ring.append("abcé\nab€\n");
  EXPECT_THAT(ring.lines(), ElementsAre("abc…", "ab…"));
  ring.append("ééé");
  EXPECT_THAT(ring.lines(), ElementsAre("ab…", "éé…"));
}

TEST(LineRing, MemoryIsBoundedWhateverIsWritten) {
  LineRing ring(20, 512);
  const std::string block(1 << 20, '\xFF');
  for (int i = 0; i < 32; ++i) ring.append(block);
  ring.append("\n");
  const std::string lines = std::string(1 << 20, '\n');
  for (int i = 0; i < 32; ++i) ring.append(lines);
  EXPECT_EQ(ring.total_bytes(), (std::size_t{64} << 20) + 1);
  EXPECT_EQ(ring.lines(), std::vector<std::string>(20));
}

TEST(LineRing, NothingWrittenOrNothingKept) {
  EXPECT_THAT(LineRing().lines(), IsEmpty());
  LineRing none(0);
  none.append("a\nb\nc");
  EXPECT_THAT(none.lines(), IsEmpty());
  EXPECT_EQ(none.total_bytes(), 5U);
}

}  // namespace
}  // namespace headroom
