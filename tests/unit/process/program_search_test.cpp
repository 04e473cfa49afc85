// SPDX-License-Identifier: Apache-2.0
#include "headroom/process/program_search.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace headroom {
namespace {

TEST(ProgramSearch, LooksInPathOrWhereTheNameSays) {
  EXPECT_TRUE(find_program("sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("bin/sh", "/"), "/bin/sh");
  EXPECT_FALSE(find_program("bin/sh", "/usr/share"));
  EXPECT_FALSE(find_program("no-such-program-anywhere"));
  EXPECT_FALSE(find_program("/etc")) << "a folder is no program";
  EXPECT_FALSE(find_program("/etc/passwd")) << "not executable";
  EXPECT_FALSE(find_program(""));
}

}  // namespace
}  // namespace headroom
