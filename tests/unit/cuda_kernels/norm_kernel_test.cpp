// SPDX-License-Identifier: Apache-2.0
#include "emulated_device.h"
// Kernels need CUDA's words, which are above.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "exact_memory.h"
#include "expect_close.h"
#include "headroom/experiment/bf16.h"
#include "headroom/experiment/random.h"
#include "headroom/workload/layer_norm_workload.h"
#include "headroom/workload/oracle.h"
#include "headroom_cuda/kernels/long_norm_kernel.cuh"
#include "headroom_cuda/kernels/norm_kernels.cuh"

namespace headroom::cuda {
namespace {

using emulated::Order;

struct NormCase {
  std::size_t rows, columns;
  std::vector<Bf16> x;
  std::vector<float> gamma, beta;

  NormCase(std::size_t rows_of_it, std::size_t columns_of_it)
      : rows(rows_of_it), columns(columns_of_it), x(rows * columns), gamma(columns), beta(columns) {
    fill_random(std::span(x), 1);
    fill_random(std::span(gamma), 2);
    fill_random(std::span(beta), 3);
  }
};

/// kVectors 0: the kernel for long rows. The others as early launches, x coming from the launch before.
template <int kVectors, bool kAligned>
void run(const NormCase& of, unsigned threads, unsigned blocks, Order order) {
  const ExactMemory x(of.x), gamma(of.gamma), beta(of.beta), y(of.x.size() * sizeof(Bf16));
  const NormProblem problem{x.as<std::uint16_t>(),
                            gamma.as<float>(),
                            beta.as<float>(),
                            y.as<std::uint16_t>(),
                            static_cast<std::uint32_t>(of.rows),
                            static_cast<std::uint32_t>(of.columns),
                            kNormEpsilon};
  if constexpr (kVectors == 0) {
    emulated::launch(blocks, threads, order, [&] { long_norm_kernel<kAligned>(problem); });
  } else {
    const auto end_of_x = x.written_later();
    const auto end = [&] {
      EXPECT_TRUE(y.is_untouched());
      end_of_x();
    };
    emulated::launch_early(blocks, threads, order, end, [&] { norm_kernel<kVectors, kAligned>(problem); });
  }
  SCOPED_TRACE(testing::Message() << "[" << of.rows << "," << of.columns << "] by " << threads
                                  << " threads of " << kVectors << " vectors, " << blocks << " blocks"
                                  << (order == Order::kForward ? ", forward" : ", backward"));
  expect_close({y.as<Bf16>(), of.x.size()},
               exact_layer_norm(alone(), of.x, as_doubles(of.gamma), as_doubles(of.beta)),
               LayerNormWorkload::kTolerance);
}

TEST(NormKernel, RowsOfAWarpAndOfABlockAreRight) {
  const NormCase narrow(9, 256), wide(5, 2048);
  for (const Order order : {Order::kForward, Order::kBackward}) {
    run<1, true>(narrow, 32, 2, order);
    run<2, true>(narrow, 32, 3, order);
    run<4, true>(narrow, 32, 4, order);
    run<1, true>(wide, 256, 2, order);
    run<2, true>(wide, 128, 2, order);
    run<4, true>(wide, 64, 2, order);
    run<0, true>(wide, 64, 2, order);
  }
}

TEST(NormKernel, RowsThatEndBeforeTheThreadsAreRight) {
  for (const std::size_t columns : {8, 16, 1024, 1032, 1960}) {
    const NormCase of(3, columns);
    run<1, true>(of, 256, 1, Order::kForward);
    run<4, true>(of, 64, 1, Order::kBackward);
    run<0, true>(of, 64, 1, Order::kBackward);
  }
}

TEST(NormKernel, RowsThatBeginAnywhereAreRight) {
  for (const std::size_t columns : {1, 2, 3, 7, 9, 31, 255, 257, 1023}) {
    const NormCase of(7, columns);
    run<2, false>(of, 128, 2, Order::kForward);
    run<0, false>(of, 64, 2, Order::kBackward);
  }
  const NormCase of(3, 4095);
  run<1, false>(of, 512, 1, Order::kForward);
  run<1, false>(of, 512, 2, Order::kBackward);
  run<0, false>(of, 512, 2, Order::kForward);
}

TEST(NormKernel, AMeanFarFromZeroCostsNoDigits) {
  NormCase of(2, 1024);
  for (std::size_t i = 0; i < of.x.size(); ++i) of.x[i] = to_bf16(i % 3 == 0 ? 1000.0F : 1008.0F);
  run<1, true>(of, 128, 1, Order::kForward);
  run<0, true>(of, 128, 1, Order::kForward);
}

TEST(NormKernel, EqualValuesGiveBeta) {
  NormCase of(2, 72);
  std::ranges::fill(of.x, to_bf16(3));
  run<4, true>(of, 32, 1, Order::kForward);
}

TEST(NormKernel, WhatIsNotFiniteStaysInItsRow) {
  for (const std::size_t columns : {513, 520}) {
    NormCase of(5, columns);
    of.x[columns] = to_bf16(std::numeric_limits<float>::infinity());
    of.x[4 * columns - 1] = to_bf16(std::numeric_limits<float>::quiet_NaN());
    run<2, false>(of, 64, 2, Order::kForward);
    run<0, false>(of, 64, 2, Order::kForward);
    if (columns == 520) run<2, true>(of, 64, 2, Order::kForward);
  }
}

}  // namespace
}  // namespace headroom::cuda
