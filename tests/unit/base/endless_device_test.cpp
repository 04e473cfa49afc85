// SPDX-License-Identifier: Apache-2.0
#include "headroom/base/endless_device.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>

#include "headroom/base/compressed_file.h"
#include "headroom/base/error.h"
#include "headroom/base/files.h"
#include "headroom/base/json_stream.h"

namespace headroom {
namespace {

TEST(EndlessDevice, IsRefusedByEveryReader) {
  EXPECT_THROW((void)read_file("/dev/zero"), Error);
  EXPECT_THROW((void)read_compressed_file("/dev/urandom"), Error);
  try {
    const JsonStream stream(std::filesystem::path("/dev/zero"));
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "cannot read '/dev/zero': it is a device, which need not end; give a file or a pipe");
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

}  // namespace
}  // namespace headroom
