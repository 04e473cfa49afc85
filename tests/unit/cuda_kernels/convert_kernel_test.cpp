// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// Kernels need CUDA's words, which are above.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "exact_memory.h"
#include "headroom/experiment/bf16.h"
#include "headroom_cuda/kernels/convert_kernel.cuh"

namespace headroom::cuda {
namespace {

TEST(ConvertKernel, EveryInt8IsExactWhateverTheirNumber) {
  for (const std::size_t count : {1, 15, 16, 17, 1000, 20001}) {
    std::vector<std::int8_t> values(count);
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<std::int8_t>(i % 256);
    const ExactMemory from(values), to(count * sizeof(Bf16));
    emulated::launch(2, 256, emulated::Order::kForward,
                     [&] { convert_kernel(from.as<std::int8_t>(), to.as<std::uint16_t>(), count); });
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(to_float(to.as<Bf16>()[i]), values[i]) << i;
  }
}

}  // namespace
}  // namespace headroom::cuda
