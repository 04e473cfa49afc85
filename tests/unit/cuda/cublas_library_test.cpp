// SPDX-License-Identifier: Apache-2.0
#include "headroom_cuda/peers/cublas_library.h"

#include <gmock/gmock.h>

#include <string>

#include "headroom/base/error.h"

namespace headroom::cuda {
namespace {

TEST(CublasLibrary, EveryFunctionThatIsCalledIsThere) {
  try {
    const CublasFunctions cublas;
    EXPECT_NE(cublas.gemm, nullptr);
    EXPECT_NE(cublas.lt.matmul, nullptr);
  } catch (const Error& missing) {
    if (std::string(missing.what()).find("could be loaded") == std::string::npos) throw;
    GTEST_SKIP() << missing.what();
  }
}

TEST(CublasLibrary, AFailedCallIsNamedWithItsStatus) {
  EXPECT_NO_THROW(check_cublas(CUBLAS_STATUS_SUCCESS, "cublasGemmEx"));
  EXPECT_THAT([] { check_cublas(CUBLAS_STATUS_NOT_SUPPORTED, "cublasGemmEx"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("cublasGemmEx failed with status 15")));
}

}  // namespace
}  // namespace headroom::cuda
