// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "headroom/report/metric_text.h"

namespace headroom {
namespace {

TEST(ModesText, NamesTheGroupsAndTheirShares) {
  Record record;
  record.metric.name = "latency";
  record.metric.unit = "s";
  EXPECT_EQ(modes_text(record), "");
  record.modes = {{{0.010, 0.52}, {0.01404, 0.48}}, 41, false};
  EXPECT_EQ(modes_text(record), "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, mixed");
  record.modes.in_stretches = true;
  record.modes.changes = 1;
  EXPECT_EQ(modes_text(record),
            "modes: 10.0 ms in 52 % of the samples, 14.0 ms in 48 %, in stretches (1 change)");
}

}  // namespace
}  // namespace headroom
