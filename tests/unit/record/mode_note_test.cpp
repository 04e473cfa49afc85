// SPDX-License-Identifier: Apache-2.0
#include "headroom/record/mode_note.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(ModeNote, NamesTheGroupsAndTheirShares) {
  Modes modes{{{10e6, 0.52}, {14.04e6, 0.48}}, 41, false};
  EXPECT_EQ(mode_note(modes), "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed");
  modes.in_stretches = true;
  modes.changes = 1;
  EXPECT_EQ(mode_note(modes),
            "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, in stretches (1 change)");
  EXPECT_EQ(mode_note({}), "");
}

TEST(ModeInfo, IsInTheUnitOfTheMetric) {
  const Modes modes{{{10e6, 0.52}, {14.04e6, 0.48}}, 41, false};
  EXPECT_EQ(mode_info(modes, 1e9),
            (StringMap{{"modes", "0.01 0.01404"}, {"mode_shares", "0.520 0.480"}, {"mode_order", "mixed"}}));
  EXPECT_TRUE(mode_info({}, 1e9).empty());
}

TEST(ModeNote, IsFoundAmongTheOthers) {
  Record record;
  EXPECT_EQ(mode_note_of(record), "");
  record.notes = {"steal: some", "modes: two"};
  EXPECT_EQ(mode_note_of(record), "modes: two");
}

}  // namespace
}  // namespace headroom
