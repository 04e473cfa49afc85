// SPDX-License-Identifier: Apache-2.0

#if __has_include(<cublasLt.h>)

#include <gmock/gmock.h>

#include <string>

#include "headroom/base/error.h"
#include "headroom_cuda/peers/cublas_library.h"

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

TEST(CublasLibrary, EveryFunctionThatIsCalledIsThere) {
  try {
    const CublasFunctions cublas;
    EXPECT_NE(cublas.gemm, nullptr);
    EXPECT_NE(cublas.lt.matmul, nullptr);
  } catch (const Error& missing) {
    if (std::string(missing.what()).find("cannot load") == std::string::npos) throw;
    GTEST_SKIP() << missing.what();
  }
}

TEST(CublasLibrary, AFailedCallIsNamedWithItsStatus) {
  EXPECT_NO_THROW(check_cublas(CUBLAS_STATUS_SUCCESS, "cublasGemmEx"));
  EXPECT_THAT([] { check_cublas(CUBLAS_STATUS_NOT_SUPPORTED, "cublasGemmEx"); },
              ThrowsMessage<Error>(HasSubstr("cublasGemmEx failed with status 15")));
}

}  // namespace
}  // namespace headroom::cuda

#endif
