// SPDX-License-Identifier: Apache-2.0
// Not run but by tools/check_device.sh: whether a checker of memory that finds nothing in our kernels would
// find this.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

namespace headroom::cuda {
namespace {

TEST(PlantedError, DISABLED_ASetBehindTheEndOfABuffer) {
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 256), cudaSuccess);
  EXPECT_NE(cudaMemset(memory, 0, std::size_t{1} << 40), cudaSuccess);
  cudaGetLastError();
  cudaFree(memory);
}

}  // namespace
}  // namespace headroom::cuda
