// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "served.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(Served, EndsWhereAFailureLeavesTheProcessLost) {
  bool is_lost = false;
  registry_.end_where_lost_with([&] { return is_lost ? "the device is gone" : ""; });
  prepare(1, "throws in sample");
  prepare(2, "well");
  sample(1, 1);
  EXPECT_EQ(sample_reply_from_json(sample(1, 1)).failure, "boom in sample") << "what the process survives";
  is_lost = true;
  EXPECT_TRUE(sample_reply_from_json(sample(2, 1)).failure.empty()) << "asked after failures only";
  prepare(3, "skips");
  EXPECT_THAT(json_string(sample(1, 1), "error", ""),
              AllOf(HasSubstr("boom in sample"), HasSubstr("is gone")));
  EXPECT_TRUE(has_ended());
}

TEST_F(Served, EndsWhereACaseIsLostInPreparing) {
  registry_.end_where_lost_with([] { return "the device is gone"; });
  EXPECT_THAT(json_string(prepare(1, "throws"), "error", ""),
              AllOf(HasSubstr("boom in prepare"), HasSubstr("is gone")));
  EXPECT_TRUE(has_ended());
}

}  // namespace
}  // namespace headroom
