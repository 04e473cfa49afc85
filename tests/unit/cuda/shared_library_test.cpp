// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/shared_library.h"

#include <gmock/gmock.h>

#include "headroom/base/error.h"

namespace headroom::cuda {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SharedLibrary, TakesTheFirstThatIsThereAndFindsItsFunctions) {
  const SharedLibrary library({"libheadroom_is_not_there.so.1", "libc.so.6"});
  EXPECT_EQ(library.name(), "libc.so.6");
  int (*absolute)(int) = nullptr;
  library.find("abs", absolute);
  EXPECT_EQ(absolute(-3), 3);
}

TEST(SharedLibrary, AFunctionThatIsNotThereIsNamed) {
  const SharedLibrary library({"libc.so.6"});
  void (*function)() = nullptr;
  EXPECT_THAT([&] { library.find("headroom_is_not_there", function); },
              ThrowsMessage<Error>(AllOf(HasSubstr("libc.so.6"), HasSubstr("headroom_is_not_there"))));
}

TEST(SharedLibrary, SaysWhatWasLookedFor) {
  EXPECT_THAT(
      [] {
        SharedLibrary({"libheadroom_a.so.2", "libheadroom_b.so.1"});
      },
      ThrowsMessage<Error>(
          AllOf(HasSubstr("libheadroom_a.so.2, libheadroom_b.so.1"), HasSubstr("LD_LIBRARY_PATH"))));
}

}  // namespace
}  // namespace headroom::cuda
