// SPDX-License-Identifier: Apache-2.0
// Whether a checker of memory that finds nothing in our kernels would find this: tools/check_device.sh asks.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdlib>

namespace headroom::cuda {
namespace {

TEST(PlantedError, ASetBehindTheEndOfABuffer) {
  if (std::getenv("HEADROOM_PLANTED_ERROR") == nullptr)
    GTEST_SKIP() << "it needs a GPU and a checker: tools/check_device.sh sets HEADROOM_PLANTED_ERROR";
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 256), cudaSuccess);
  EXPECT_NE(cudaMemset(memory, 0, std::size_t{1} << 40), cudaSuccess);
  cudaGetLastError();
  cudaFree(memory);
}

}  // namespace
}  // namespace headroom::cuda
